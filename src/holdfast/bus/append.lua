-- Keep a part for latecomers and show it to who follows, in one: nobody is shown a part that a
-- latecomer could not read (R4). KEYS: the episode's list. ARGV: channel, frame, parts kept, ttl in ms.
redis.call('RPUSH', KEYS[1], ARGV[2])
redis.call('LTRIM', KEYS[1], -tonumber(ARGV[3]), -1)
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('PUBLISH', ARGV[1], ARGV[2])
return 1
