-- GET /events?page=101

SELECT sum(clicks)
  FROM workspace_slots
  WHERE workspace_id = {p0:UInt64}
  AND slot >= {p1:DateTime('UTC')}
  AND slot <= {p2:DateTime('UTC')}
-- p0 = "500"
-- p1 = "2026-11-20 14:30:00"
-- p2 = "2026-11-21 14:30:00"
-- set max_execution_time = 20
-- set max_memory_usage = 1000000000
-- set max_threads = 2
-- set distributed_product_mode = local
-- set optimize_skip_unused_shards = 1
-- set log_comment = events clicks count
