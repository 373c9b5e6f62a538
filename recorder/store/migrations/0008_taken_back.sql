-- How far transcripts were read by a backfill that a person took back: what stands there is not read again by itself.

create table taken_back (
    path text primary key,
    offset integer not null
) without rowid;
