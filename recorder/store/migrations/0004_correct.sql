-- Corrections that hold: why a memory is hidden, how sure its dates are, what was rejected, what is never taken in
-- again, and what is being forgotten.

alter table memories add column state text not null default 'active';  -- active | deleted | suppressed | forgotten
update memories set state = 'deleted' where deleted_ms is not null;
-- Code from before this column hides and shows by deleted_ms alone.
create trigger memories_state after update of deleted_ms on memories
when (new.deleted_ms is null) <> (old.deleted_ms is null) and new.state = old.state begin
    update memories set state = case when new.deleted_ms is null then 'active' else 'deleted' end where id = new.id;
end;

-- How exact a date is: ms | day | month | year | unknown. No end and no precision: it still holds. `unknown` without a
-- date: it ended, nobody knows when.
alter table memory_versions add column valid_from_precision text;
alter table memory_versions add column valid_to_precision text;
create index memory_versions_believed on memory_versions (memory_id) where retired_ms is null;

-- A durable "not this value". Digests are keyed (keys.purpose 'tombstone'): `<key id>:<hex>`.
create table tombstones (
    id integer primary key,
    scope text not null,                    -- user | a project's id
    key_digest text not null,
    value_digest text not null,             -- of the value, letter case folded before look-alikes
    shape_digest text not null,             -- and after them: a look-alike may have another small letter
    words_digest text,                      -- and of its words alone, as a key joins them
    cause text not null,                    -- rejected | corrected | deleted
    memory_id integer,
    created_ms integer not null,
    actor text not null,
    channel text not null,
    reason text,
    lifted_ms integer,
    lifted_by text
);
create index tombstones_by_value on tombstones (value_digest);
create index tombstones_by_shape on tombstones (shape_digest);
create index tombstones_by_memory on tombstones (memory_id);

-- "Never take this in again": an event's key, a record's uuid, a value. Digests as above (keys.purpose 'deny').
create table deny_rules (
    id integer primary key,
    what text not null,                     -- event | record | value
    digest text not null,
    created_ms integer not null,
    actor text not null,
    reason text,
    unique (what, digest)
);

-- What was asked to be forgotten, and whether the last byte is gone.
create table forgets (
    id integer primary key,
    state text not null default 'pending',  -- pending | done
    asked_ms integer not null,
    done_ms integer,
    actor text not null,
    reason text,
    reached text not null default '{}',     -- JSON: how much of what was reached
    unreached text not null default '[]',   -- JSON: what could not be, in words
    subject text not null default '',       -- keyed digest of what it was about
    events_left text not null default '[]'  -- JSON: ids of the events that are blank and not yet erased
);

-- The other side of a finding about two memories.
alter table findings add column other_id integer;
create index findings_by_other on findings (other_id) where other_id is not null;
alter table findings add column pair text;  -- keyed digest of both sides and what they say: decided once is decided
create index findings_by_pair on findings (pair) where pair is not null;

-- Who made a link: what is drawn from something is hidden with it only where its maker could hide it alone.
alter table relations add column channel text not null default 'agent';
update relations set channel = 'person' where actor in ('terminal', 'web');

-- Where copies of what we hold were put, so that whoever forgets something can name them.
create table copies (
    path text primary key,
    what text not null,                     -- export | backup
    made_ms integer not null
);
