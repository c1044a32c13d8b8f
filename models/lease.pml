/*
 * One chat, workers that may freeze or die, users who write meanwhile.
 *
 * Every writer does what the ledger does: load a snapshot, decide, commit by compare-and-set. Between two
 * statements a process may pause for as long as it likes: that is the slow model call, and it is the zombie.
 * What one SQL statement does is one d_step or atomic: nobody sees half of it.
 *
 * Each protection can be taken out at compile time, to show that it is needed:
 *   -DNO_FENCE             a commit ignores worker and epoch, and the fence check after a reload always passes
 *   -DNO_HISTORY_VERSION   the fence check after a reload ignores history_version
 *   -DNO_EXPECTED_VERSION  a commit ignores version
 *   -DNO_JOINT_RELEASE     a chat goes idle in one statement and is released in the next
 *   -DNO_EXPIRY            the lease of a dead worker never ends
 */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef USERS
#define USERS 1
#endif
#ifndef COMMANDS
#define COMMANDS 3              /* by each user */
#endif
#ifndef EXPIRIES
#define EXPIRIES 2              /* leases that end under a worker that still lives */
#endif
#define QUEUE_MAX 2
#define NOBODY WORKERS

mtype:status = { idle, running, interrupting };

/* What a snapshot holds and a decision may look at. history and queue count user messages. */
typedef Facts {
    byte version;
    byte history_version;
    mtype:status status = idle;
    byte history;
    byte queue
};

Facts chat;                     /* the row: new, empty, idle */
byte owner = NOBODY;
byte epoch;
bool lease_live[WORKERS];       /* on the database's clock: only an acquiring statement reads it, never its holder */
bool dead[WORKERS];

/* Ghosts watch; no process decides by them. */
byte accepted;                  /* user messages acknowledged */
byte removed;                   /* user messages that an edit hid in history or cleared from the queue */
byte commits;
byte history_id;                /* names the content of history: another one after every change */
byte answer_epoch;              /* of the newest committed answer */
bool taken_over[WORKERS];       /* somebody acquired the chat from this worker */
byte expiries, deaths;          /* so far: both are bounded, or no chat would ever settle */

/* One flag per promise, so that a counterexample names what it broke. */
bool S2_version_jumped, S4_zombie_wrote, S6_epoch_fell, M1_message_lost, L06_answer_to_other_history;

inline must(promise, broken) {
    if
    :: promise
    :: else -> broken = true; assert(!broken)
    fi
}

inline load(seen) {
    seen.version = chat.version;
    seen.history_version = chat.history_version;
    seen.status = chat.status;
    seen.history = chat.history;
    seen.queue = chat.queue
}

/* Has no meaning: values that nobody reads again would only multiply the states. */
inline forget(seen) {
    seen.version = 0;
    seen.history_version = 0;
    seen.status = idle;
    seen.history = 0;
    seen.queue = 0
}

/* Everything comes from the snapshot, nothing from the row as it is by now: a stale writer must do here
   the harm that it would do in the database. */
inline write(seen, new_status, new_history, new_queue) {
    chat.version = seen.version + 1;
    chat.status = new_status;
    chat.history = new_history;
    chat.queue = new_queue;
    commits++;
    must(chat.history + chat.queue + removed == accepted, M1_message_lost);
    must(chat.version == commits, S2_version_jumped)
}

inline change_history() {
    chat.history_version = chat.version;
    history_id++
}

#ifdef NO_EXPECTED_VERSION
#define VERSION_AS_SEEN true
#else
#define VERSION_AS_SEEN (chat.version == seen.version)
#endif

/* Version alone does not stop a zombie: acquiring is no command and leaves version as it was, so until the
   successor's first commit both hold the right one. */
#ifdef NO_FENCE
#define STILL_MINE true
#else
#define STILL_MINE (owner == me && epoch == my_epoch)
#endif

/* A reload makes version right again by definition. From then on only history_version remembers that an edit
   came between the prompt and its answer. */
#if defined(NO_FENCE) || defined(NO_HISTORY_VERSION)
#define HISTORY_UNMOVED true
#else
#define HISTORY_UNMOVED (seen.history_version == my_history_version)
#endif

#ifdef NO_JOINT_RELEASE
#define RELEASE skip
#else
#define RELEASE owner = NOBODY
#endif

proctype Worker(byte me) {
    Facts seen;
    byte my_epoch, my_history_version;      /* with `me`: the fence */
    byte answers_id;                        /* ghost: the history that the prompt was built from */

free:
    atomic {
        forget(seen); my_epoch = 0; my_history_version = 0; answers_id = 0;
        taken_over[me] = false;
#ifdef NO_JOINT_RELEASE
        owner = (owner == me -> NOBODY : owner);
#endif
        lease_live[me] = true               /* it moves again, so its heartbeat does */
    };
end_waiting:                                /* with nothing to drive, waiting is a lawful end */
    atomic {
        chat.status != idle && (owner == NOBODY || !lease_live[owner]) ->
        printf("worker %d: acquires with epoch %d\n", me, epoch + 1);
        if
        :: owner != NOBODY -> taken_over[owner] = true
        :: else
        fi;
        owner = me;
        epoch++;
        my_epoch = epoch
    };

begin_step:
    atomic { load(seen); my_history_version = seen.history_version };
    if
    /* History is read after the fence is set, never before: if an edit falls between the two, the answer is
       needlessly refused. The other way round it would be an answer to hidden history, and pass. */
    :: answers_id = history_id
    /* To die later, before the commit, looks the same from outside. One healthy worker remains. */
    :: atomic { deaths < WORKERS - 1 ->
        printf("worker %d: dies\n", me);
        deaths++;
        dead[me] = true;
        goto end_dead }
    fi;

commit:                                     /* the model has spoken, for any length of time */
    atomic {
        if
        :: VERSION_AS_SEEN && STILL_MINE
        :: else -> goto reload
        fi;
        /* FinishInterrupt stores a partial answer, FinishTurn a whole one; then both promote the queue head or go
           idle, as decided from the snapshot. A message queued since must make the commit fail, not be forgotten. */
        d_step {
            if
            :: seen.status == interrupting -> printf("worker %d: FinishInterrupt, version %d\n", me, seen.version)
            :: else -> printf("worker %d: CommitStep + FinishTurn, version %d\n", me, seen.version)
            fi;
            must(!taken_over[me], S4_zombie_wrote);
            must(answers_id == history_id, L06_answer_to_other_history);
            must(my_epoch >= answer_epoch, S6_epoch_fell);
            answer_epoch = my_epoch;
            if
            :: seen.queue > 0 ->
                write(seen, running, seen.history + 1, seen.queue - 1)
            :: else ->
                write(seen, idle, seen.history, 0);
                /* In the same statement: between two, a reader would see an idle chat that somebody drives. */
                RELEASE
            fi;
            change_history()
        };
        if
        :: chat.status == idle -> goto free
        :: else -> goto begin_step          /* still the owner: the promoted message is the next turn */
        fi
    };

reload:
    atomic {
        load(seen);
        if
        :: !STILL_MINE -> printf("worker %d: gives up\n", me); goto free
        :: STILL_MINE && !HISTORY_UNMOVED -> printf("worker %d: drops its answer\n", me); goto begin_step
        :: STILL_MINE && HISTORY_UNMOVED -> goto commit    /* only queue or status moved: the answer still stands */
        fi
    };

end_dead:
    false
}

proctype User() {
    Facts seen;
    byte sent;

    do
    :: sent == COMMANDS -> break
    :: sent < COMMANDS ->
        atomic { load(seen) };
        /* Here a turn may end: what is right for a busy chat would leave a message queued in an idle one. */
        atomic {
            if
            :: !VERSION_AS_SEEN             /* somebody was faster: load and decide again */
            :: VERSION_AS_SEEN && seen.status == idle ->
                d_step {
                    printf("user: SendMessage to idle, version %d\n", seen.version);
                    accepted++;
                    write(seen, running, seen.history + 1, 0);
                    change_history()
                };
                sent++
            :: VERSION_AS_SEEN && seen.status != idle && seen.queue < QUEUE_MAX ->
                d_step {
                    printf("user: SendMessage to the queue, version %d\n", seen.version);
                    accepted++;
                    write(seen, seen.status, seen.history, seen.queue + 1)
                };
                sent++
            :: VERSION_AS_SEEN && seen.status != idle && seen.queue < QUEUE_MAX ->
                d_step {
                    printf("user: SendMessage with interrupt, version %d\n", seen.version);
                    accepted++;
                    write(seen, interrupting, seen.history, seen.queue + 1)
                };
                sent++
            :: VERSION_AS_SEEN && seen.status == running ->
                d_step {
                    printf("user: Interrupt, version %d\n", seen.version);
                    write(seen, interrupting, seen.history, seen.queue)
                };
                sent++
            :: VERSION_AS_SEEN && seen.history > 0 ->
                /* The first message is edited: all of history is hidden, and the queue was meant for it. */
                d_step {
                    printf("user: EditMessage, version %d\n", seen.version);
                    accepted++;
                    removed = removed + seen.history + seen.queue;
                    write(seen, running, 1, 0);
                    change_history()
                };
                sent++
            fi;
            forget(seen)
        }
    od
}

/* Time, as far as leases know it. Only the owner's lease is ever asked for. */
proctype Clock() {
end:
    do
    :: d_step { owner != NOBODY && lease_live[owner] && !dead[owner] && expiries < EXPIRIES ->
        printf("clock: the lease of worker %d expires, and it does not know\n", owner);
        lease_live[owner] = false; expiries++ }
#ifndef NO_EXPIRY
    :: d_step { owner != NOBODY && lease_live[owner] && dead[owner] ->
        printf("clock: the lease of worker %d, dead, expires\n", owner);
        lease_live[owner] = false }
#endif
    /* A late heartbeat, nobody having taken over: the lease is good again and the epoch never moved. */
    :: d_step { owner != NOBODY && !lease_live[owner] && !dead[owner] ->
        printf("clock: worker %d renews in time\n", owner);
        lease_live[owner] = true }
    od
}

init {
    byte i;
    atomic {
        for (i : 0 .. WORKERS - 1) { run Worker(i) }
        for (i : 1 .. USERS) { run User() }
        run Clock()
    }
}

/* S8: true of every row that a reader can see, not only right after a commit. */
ltl S8_idle_is_at_rest { [] (chat.status == idle -> (chat.queue == 0 && owner == NOBODY)) }

/* S7: with one healthy worker left, a chat with work comes to rest, whatever froze, died or interrupted. */
ltl S7_settles { [] (chat.status != idle -> <> (chat.status == idle)) }
