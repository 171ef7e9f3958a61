-- GET /events?tenantId=x

SELECT sum(clicks)
  FROM workspace_slots
  WHERE workspace_id = {p0:UInt64}
  AND slot <= {p1:DateTime('UTC')}
-- p0 = "500"
-- p1 = "2106-02-07 06:28:15"
-- set log_comment = events clicks count

SELECT id
  FROM links FINAL
  WHERE workspace_id = {p0:UInt64}
  AND tenant_id IN {p1:Array(String)}
  LIMIT {p2:UInt64}
-- p0 = "500"
-- p1 = ["x"]
-- p2 = "2001"
-- set log_comment = events clicks links

SELECT click_id, timestamp, link_id, payload, ip
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p1:DateTime64(3, 'UTC')}
  AND timestamp <= {p2:DateTime64(3, 'UTC')}
  AND false
  ORDER BY timestamp DESC, click_id DESC
  LIMIT {p3:UInt64} OFFSET {p4:UInt64}
-- p0 = "500"
-- p1 = "2026-11-20 14:30:00.250"
-- p2 = "2026-11-21 14:30:00.250"
-- p3 = "100"
-- p4 = "0"
-- set log_comment = events clicks
-- set optimize_use_projections = 1
-- set use_index_for_in_with_subqueries = 1
-- set use_top_k_dynamic_filtering = 0
