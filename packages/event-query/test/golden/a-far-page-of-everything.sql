-- GET /events?page=2&limit=3

SELECT count()
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p1:DateTime64(3, 'UTC')}
  AND timestamp <= {p2:DateTime64(3, 'UTC')}
-- p0 = "500"
-- p1 = "2026-11-21 14:30:00.000"
-- p2 = "2026-11-21 14:30:00.250"
-- set log_comment = events clicks head
-- set optimize_use_projections = 0

SELECT slot, reached - events
  FROM (SELECT slot, events, sum(events) OVER (ORDER BY slot DESC ROWS UNBOUNDED PRECEDING) AS reached FROM (SELECT slot, sum(clicks) AS events FROM workspace_slots WHERE workspace_id = {p0:UInt64} AND slot >= {p1:DateTime('UTC')} AND slot <= {p2:DateTime('UTC')} GROUP BY slot))
  WHERE reached > {p3:UInt64}
  ORDER BY slot DESC
  LIMIT 1
-- p0 = "500"
-- p1 = "2026-11-20 14:30:00"
-- p2 = "2026-11-21 14:15:00"
-- p3 = "3"
-- set log_comment = events clicks slot

SELECT click_id, timestamp, link_id, payload, ip
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p1:DateTime64(3, 'UTC')}
  AND timestamp <= {p2:DateTime64(3, 'UTC')}
  ORDER BY timestamp DESC, click_id DESC
  LIMIT {p3:UInt64} OFFSET {p4:UInt64}
-- p0 = "500"
-- p1 = "2026-11-20 14:30:00.250"
-- p2 = "2026-11-21 14:29:59.999"
-- p3 = "3"
-- p4 = "3"
-- set max_threads = 1
-- set query_plan_merge_expressions = 0
-- set log_comment = events clicks
-- set optimize_use_projections = 0
-- set use_index_for_in_with_subqueries = 0
-- set ignore_data_skipping_indices = link_id_bloom
-- set use_top_k_dynamic_filtering = 0
