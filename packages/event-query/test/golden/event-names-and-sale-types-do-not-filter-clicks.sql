-- GET /events?eventName=Sign+up&saleType=new&country=DE

SELECT click_id, timestamp, link_id, payload, ip
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p1:DateTime64(3, 'UTC')}
  AND timestamp <= {p2:DateTime64(3, 'UTC')}
  AND country IN {p3:Array(String)}
  AND NOT (link_id IN (SELECT id FROM links WHERE workspace_id = {p0:UInt64} AND deleted = {p4:UInt8}))
  ORDER BY timestamp DESC, click_id DESC
  LIMIT {p5:UInt64} OFFSET {p6:UInt64}
-- p0 = "500"
-- p1 = "2026-11-20 14:30:00.250"
-- p2 = "2026-11-21 14:30:00.250"
-- p3 = ["DE"]
-- p4 = "1"
-- p5 = "100"
-- p6 = "0"
-- set log_comment = events clicks
-- set optimize_use_projections = 0
-- set use_index_for_in_with_subqueries = 0
-- set ignore_data_skipping_indices = link_id_bloom
-- set use_top_k_dynamic_filtering = 0
