-- The first schema. Times are integer milliseconds UTC in columns ending _ms.
-- Additive from here on: released migrations are never edited, and older code must still run on a newer file.

create table scopes (
    id integer primary key,
    name text not null unique            -- 'user' or a project id
);
insert into scopes (id, name) values (1, 'user');

create table projects (
    id text primary key,
    identity text not null unique,       -- remote:… | root:… | path:…
    name text not null,
    root text not null,
    created_ms integer not null,
    merged_into text references projects (id),
    capture integer not null default 1,
    brief integer not null default 1
);

-- Which folder belongs to which project; the first binding of a root sticks.
create table project_roots (
    root text primary key,
    project_id text not null references projects (id),
    bound_ms integer not null,
    pinned integer not null default 0    -- 1: a person said so (alias, split)
);
create index project_roots_by_project on project_roots (project_id);

-- Other identities of a project, such as a remote that was added later.
create table project_aliases (
    identity text primary key,
    project_id text not null references projects (id)
);

create table sessions (
    id text primary key,
    project_id text references projects (id),
    first_cwd text,
    transcript_path text,
    started_ms integer not null,
    last_ms integer not null,
    closed_ms integer,
    end_reason text,
    title text,
    branch text,
    off integer not null default 0,      -- 1: started with RECORDER_OFF, never taken in
    hook_events integer not null default 0
);
create index sessions_by_last on sessions (last_ms);
create index sessions_open on sessions (last_ms) where closed_ms is null;

-- One row a thing that happened. The text that search indexes stands in excerpt, once.
create table events (
    id integer primary key,
    key text not null unique,
    kind text not null,
    session_id text not null references sessions (id),
    project_id text,
    scope_id integer,                    -- null: unresolved, visible to a person only
    at_ms integer not null,
    received_ms integer not null,
    prompt_id text,
    tool_use_id text,
    agent_id text,
    class text,
    tool text,
    ok integer,
    cwd text,
    branch text,
    excerpt text not null default '',
    narrow text not null default '',     -- paths, command lines, identifiers, the error line
    body blob not null,
    codec text not null,                 -- json | zlib | gone
    body_hash blob not null,             -- sha256 of the body's JSON
    truncated integer not null default 0,
    omitted_bytes integer not null default 0,
    healed integer not null default 0
);
create index events_by_session on events (session_id, at_ms);
create index events_by_tool_use on events (tool_use_id) where tool_use_id is not null;
create index events_by_prompt on events (prompt_id) where prompt_id is not null;
create index events_by_scope on events (scope_id, at_ms);

-- Where an event was seen: the spool file, the transcript's record. uuid is the record's.
create table sightings (
    id integer primary key,
    event_id integer not null references events (id),
    source text not null,                -- hook | transcript | backfill | gate
    ref text not null,
    uuid text,
    session_id text not null,
    at_ms integer not null,
    extra text                           -- JSON: what only this source knew
);
create unique index sightings_by_ref on sightings (source, ref, event_id);
create index sightings_by_event on sightings (event_id);
create index sightings_by_uuid on sightings (uuid) where uuid is not null;

-- Paths a tool call named.
create table files (
    event_id integer not null references events (id),
    path text not null,
    action text not null,                -- read | write
    primary key (path, event_id)
) without rowid;
create index files_by_event on files (event_id);

-- How far each transcript was read.
create table cursors (
    path text primary key,
    session_id text not null,
    inode integer,
    offset integer not null,
    prefix_hash text not null,
    state text not null default '{}',
    read_ms integer not null
);
create index cursors_by_session on cursors (session_id);

-- A tool use whose result has not come yet: an Event as JSON, redacted.
create table open_calls (
    path text not null,                  -- the transcript it stands in
    tool_use_id text not null,
    event text not null,
    primary key (path, tool_use_id)
) without rowid;

create table jobs (
    id integer primary key,
    kind text not null,
    subject text not null,
    state text not null default 'queued',  -- queued | running | done | dead
    attempts integer not null default 0,
    due_ms integer not null,
    lease_until_ms integer,
    again integer not null default 0,      -- asked for once more while it ran
    outcome text,
    error text,
    created_ms integer not null,
    finished_ms integer,
    unique (kind, subject)
);
create index jobs_by_due on jobs (state, due_ms);

create table memories (
    id integer primary key,
    namespace text not null,
    key text not null,
    scope_id integer references scopes (id),
    project_id text,
    home_project_id text,
    version_id integer,
    created_ms integer not null,
    deleted_ms integer,
    deleted_by text,
    pinned integer not null default 0,
    access_count integer not null default 0,
    unique (namespace, key)
);
create index memories_by_scope on memories (scope_id);

create table memory_versions (
    id integer primary key,
    memory_id integer not null references memories (id),
    version integer not null,
    value text not null,
    kind text not null,
    trust text not null,
    origin text not null,
    channel text not null,
    source text not null,
    tags text not null default '[]',
    importance real not null default 0.5,
    confidence real not null default 0.5,
    occurred_ms integer not null,
    valid_from_ms integer,
    valid_to_ms integer,
    expires_ms integer,
    recorded_ms integer not null,
    retired_ms integer,
    unique (memory_id, version)
);

create table memory_evidence (
    version_id integer not null references memory_versions (id),
    event_id integer not null references events (id),
    quote text not null,
    session_id text not null,
    primary key (version_id, event_id, quote)
) without rowid;
create index memory_evidence_by_event on memory_evidence (event_id);

-- Who was shown, read or used a memory.
create table memory_refs (
    id integer primary key,
    memory_id integer not null references memories (id),
    how text not null,                   -- shown | read | used
    who text not null,
    session_id text,
    at_ms integer not null
);
create index memory_refs_by_memory on memory_refs (memory_id);

create table memory_history (
    id integer primary key,
    memory_id integer not null,
    version_id integer,
    action text not null,
    channel text not null,
    actor text not null,
    reason text,
    at_ms integer not null,
    content text                         -- JSON of what changed
);
create index memory_history_by_memory on memory_history (memory_id);

create table findings (
    id integer primary key,
    kind text not null,                  -- conflict | delete_proposal | …
    memory_id integer references memories (id),
    project_id text,
    proposal text not null,              -- JSON of the losing proposal
    state text not null default 'open',  -- open | resolved
    disposition text,
    reason text,
    created_ms integer not null,
    resolved_ms integer
);
create index findings_by_memory on findings (memory_id);
create index findings_open on findings (state);

-- Links between memories.
create table relations (
    id integer primary key,
    from_id integer not null references memories (id),
    to_id integer not null references memories (id),
    relation text not null,
    created_ms integer not null,
    actor text not null,
    unique (from_id, to_id, relation)
);
create index relations_by_to on relations (to_id);

-- Insert only; a chain of digests, no content.
create table audit (
    id integer primary key,
    at_ms integer not null,
    actor text not null,
    channel text not null,
    action text not null,
    subject text not null,
    detail_digest text not null,
    reason text,
    previous text not null,
    digest text not null
);

create trigger memory_history_no_update before update of id, memory_id, action, channel, actor, at_ms on memory_history
begin select raise(abort, 'memory_history is insert-only'); end;
create trigger memory_history_no_delete before delete on memory_history
begin select raise(abort, 'memory_history is insert-only'); end;
create trigger audit_no_update before update on audit
begin select raise(abort, 'audit is insert-only'); end;
create trigger audit_no_delete before delete on audit
begin select raise(abort, 'audit is insert-only'); end;

-- Keyed digests need keys; one row a key, kept while anything signed with it must be checked.
create table keys (
    id integer primary key,
    purpose text not null,
    secret blob not null,
    created_ms integer not null
);

-- The truth of the vectors; the vec index can be dropped and rebuilt from here.
create table embeddings (
    id integer primary key,
    owner text not null,                 -- event | memory
    owner_id integer not null,           -- events.id | memory_versions.id
    window integer not null,
    scope_id integer,
    model text not null,
    content_hash text not null,
    vector blob not null,
    unique (owner, owner_id, window)
);
create index embeddings_by_content on embeddings (scope_id, content_hash);

-- What waits for a vector, newest first.
create table embed_queue (
    owner text not null,
    owner_id integer not null,
    at_ms integer not null,
    primary key (owner, owner_id)
) without rowid;
create index embed_queue_newest on embed_queue (at_ms desc);

-- When nothing was to be taken in; a transcript read later leaves these spans out too.
create table pauses (
    id integer primary key,
    project_id text,                     -- null: everywhere
    from_ms integer not null,
    until_ms integer
);

create table counters (
    name text primary key,
    value integer not null default 0,
    at_ms integer,
    note text
);

-- The search tables themselves stand in store/indexes.py: their shapes are asserted at every open.
-- New events enter them a batch at a time (events.index).
create trigger events_unindexed after delete on events begin
    insert into event_words (event_words, rowid, excerpt) values ('delete', old.id, old.excerpt);
    insert into event_trigrams (event_trigrams, rowid, narrow) values ('delete', old.id, old.narrow);
end;
create trigger events_reindexed after update of excerpt, narrow on events begin
    insert into event_words (event_words, rowid, excerpt) values ('delete', old.id, old.excerpt);
    insert into event_trigrams (event_trigrams, rowid, narrow) values ('delete', old.id, old.narrow);
    insert into event_words (rowid, excerpt) values (new.id, new.excerpt);
    insert into event_trigrams (rowid, narrow) values (new.id, new.narrow);
end;
