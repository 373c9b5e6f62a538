-- Tokens of the HTTP service that see one project, each with what it may do. The token itself is nowhere: it is random
-- and long, so that a plain digest tells nothing.

create table tokens (
    id integer primary key,
    digest text not null unique,         -- sha256 of the token
    rights text not null,                -- read | write | admin
    project_id text,                     -- null: none but the person's own namespace
    created_ms integer not null,
    revoked_ms integer
);

-- Prompts and tool calls of a project, a page at a time.
create index events_by_kind on events (scope_id, kind, at_ms);
