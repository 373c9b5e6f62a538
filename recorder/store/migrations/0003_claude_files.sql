-- Claude's own memory files: what was read of each, and which memory each piece of it became, so that an unchanged file
-- changes nothing and a removed one is known.

create table claude_files (
    path text primary key,
    folder text not null,
    stamp text not null,                 -- what the file system said when it was read; '' reads it again
    session_id text,                     -- the session that wrote it, as it says itself
    beyond integer not null default 0,   -- lines Claude itself does not load
    read_ms integer not null
);
create index claude_files_by_folder on claude_files (folder);

create table claude_entries (
    id integer primary key,
    path text not null,
    name text not null,                  -- the file's name, or of a piece of it
    namespace text not null,
    key text not null,
    hash text not null,                  -- sha256 of value and kind
    gone_ms integer,                     -- when it was no longer there
    unique (namespace, key)
);
create index claude_entries_by_path on claude_entries (path);

create table claude_syncs (
    id integer primary key,              -- 1: the last one
    report text not null                 -- JSON
);
