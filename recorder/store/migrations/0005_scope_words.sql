-- The index of words holds the scope of an event as one more word, so that a search reads its own scope alone. Without
-- it every row of every scope that holds a word of the question was looked up.
create view event_texts as
select id, excerpt, 'inscope' || scope_id as scope from events;

drop trigger events_unindexed;
drop trigger events_reindexed;
create trigger events_unindexed after delete on events begin
    insert into event_words (event_words, rowid, excerpt, scope)
    values ('delete', old.id, old.excerpt, 'inscope' || old.scope_id);
    insert into event_trigrams (event_trigrams, rowid, narrow) values ('delete', old.id, old.narrow);
end;
-- What is not indexed yet cannot be taken out: its turn comes in the same transaction, with what it holds by then.
create trigger events_reindexed after update of excerpt, narrow, scope_id on events
when exists (select 1 from event_words_docsize where id = old.id) begin
    insert into event_words (event_words, rowid, excerpt, scope)
    values ('delete', old.id, old.excerpt, 'inscope' || old.scope_id);
    insert into event_trigrams (event_trigrams, rowid, narrow) values ('delete', old.id, old.narrow);
    insert into event_words (rowid, excerpt, scope) values (new.id, new.excerpt, 'inscope' || new.scope_id);
    insert into event_trigrams (rowid, narrow) values (new.id, new.narrow);
end;
