-- The past: which backfill brought what, so that it can be taken back; how a transcript is known again; and work that
-- waits until nothing live is due.

create table runs (
    id integer primary key,
    name text not null unique,              -- what a person calls it
    state text not null default 'running',  -- running | done | undone
    started_ms integer not null,
    ended_ms integer,
    asked text not null default '{}',       -- JSON: what was asked for
    found text not null default '{}'        -- JSON: what came of it
);

alter table sightings add column run_id integer;      -- the run that saw it
create index sightings_by_run on sightings (run_id) where run_id is not null;

alter table cursors add column run_id integer;        -- the run that read it first
alter table cursors add column tail_hash text;        -- sha256 of the last bytes before the offset
create index cursors_by_run on cursors (run_id) where run_id is not null;

alter table jobs add column behind integer not null default 0;  -- 1: nothing live waits for it
create index jobs_by_turn on jobs (state, behind, due_ms);
