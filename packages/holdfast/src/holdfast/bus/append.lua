-- Keep parts for latecomers and show them to who follows, in one: nobody is shown a part that a
-- latecomer could not read (R4). KEYS: the list of each part's episode. ARGV: how to publish, parts
-- kept, ttl in ms; then channel and frame of each part. On a cluster all parts are of one chat.
local parts_max = tonumber(ARGV[2])
for i, key in ipairs(KEYS) do
    local channel, frame = ARGV[2 * i + 2], ARGV[2 * i + 3]
    if redis.call('RPUSH', key, frame) > parts_max then
        redis.call('LTRIM', key, -parts_max, -1)
    end
    redis.call('PEXPIRE', key, ARGV[3])
    redis.call(ARGV[1], channel, frame)
end
return #KEYS
