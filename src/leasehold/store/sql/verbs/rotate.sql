-- rotate: the segments of ready take turns. Seals the one that nobody can write to any more, empties the sealed ones that
-- have no row left, and opens the next when the open one has grown. A reader or writer in the way is not waited for.
create or replace function leasehold.rotate(p_bytes bigint default 4000000) returns table (sealed int, emptied int, opened int, bytes bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set lock_timeout = '50ms' as $$
#variable_conflict use_column
declare
  v_open bigint := (select last_value from leasehold.open_segment);
  v_seg  record;
  v_row  tid;
  v_cut  boolean;
begin
  -- The sequence moves at once and is not taken back: what a rotation that was cut off has left undone is done now, and nothing
  -- else opened. Were both lost together, a segment that has rows would pass for an empty one.
  v_cut := (select s.generation <> v_open / 4 from leasehold.segment s where s.number = v_open % 4);
  if v_cut then
    update leasehold.segment s set generation = v_open / 4, sealed = false, empty = false
     where s.number = (select o.number from leasehold.segment o where o.number = v_open % 4 for update skip locked);
  end if;
  for v_seg in select * from leasehold.segment s where s.number <> v_open % 4 and not s.empty order by s.generation for update skip locked loop
    if not v_seg.sealed then
      continue when not pg_try_advisory_xact_lock(1279869254, v_seg.number);
      update leasehold.segment s set sealed = true, swept = 0 where s.number = v_seg.number;
      sealed := v_seg.number;
    else
      -- Nothing enters, so blocks once seen empty stay so: each look goes on from where the last one stopped.
      execute format('select r.ctid from leasehold.ready_%s r where r.ctid >= $1 limit 1', v_seg.number)
         into v_row using format('(%s,0)', v_seg.swept)::tid;
      if v_row is not null then
        update leasehold.segment s set swept = split_part(trim('(' from v_row::text), ',', 1)::bigint where s.number = v_seg.number and s.swept < split_part(trim('(' from v_row::text), ',', 1)::bigint;
      else
        begin
          execute format('lock table leasehold.ready_%s in access exclusive mode', v_seg.number);
          execute format('select r.ctid from leasehold.ready_%s r limit 1', v_seg.number) into v_row;
          if v_row is null then
            execute format('truncate leasehold.ready_%s', v_seg.number);
            update leasehold.segment s set empty = true where s.number = v_seg.number;
            emptied := v_seg.number;
          end if;
        exception when lock_not_available then null;
        end;
      end if;
    end if;
  end loop;
  if not v_cut and pg_relation_size(format('leasehold.ready_%s', v_open % 4)::regclass) >= p_bytes then
    for v_seg in select * from leasehold.segment s where s.number <> v_open % 4 and s.empty order by s.generation for update skip locked loop
      update leasehold.segment s set generation = v_open / 4 + 1, sealed = false, empty = false where s.number = v_seg.number;
      perform setval('leasehold.open_segment', (v_open / 4 + 1) * 4 + v_seg.number);
      opened := v_seg.number;
      exit;
    end loop;
  end if;
  bytes := pg_relation_size(format('leasehold.ready_%s', v_open % 4)::regclass);
  return next;
end $$;
