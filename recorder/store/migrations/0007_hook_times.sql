-- How long our own hooks took, where Claude Code wrote it into a transcript: no hook keeps its own time.

create table hook_times (
    id integer primary key,              -- of the place in the transcript, so that twice is once
    at_ms integer not null,
    hook text not null,                  -- capture.sh | capture.py | brief.py | lessons.py
    took_ms integer not null
);
create index hook_times_by_time on hook_times (at_ms);
