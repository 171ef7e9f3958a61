-- GET /events?partnerId=pn_00000000002

SELECT sum(clicks)
  FROM workspace_slots
  WHERE workspace_id = {p0:UInt64}
  AND slot <= {p1:DateTime('UTC')}
-- p0 = "500"
-- p1 = "2106-02-07 06:28:15"
-- set log_comment = events clicks count

SELECT click_id, timestamp, link_id, payload, ip
  FROM click_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p1:DateTime64(3, 'UTC')}
  AND timestamp <= {p2:DateTime64(3, 'UTC')}
  AND link_id IN (SELECT id FROM links FINAL WHERE workspace_id = {p0:UInt64} AND partner_id IN {p3:Array(UInt64)})
  ORDER BY timestamp DESC, click_id DESC
  LIMIT {p4:UInt64} OFFSET {p5:UInt64}
-- p0 = "500"
-- p1 = "2026-11-20 14:30:00.250"
-- p2 = "2026-11-21 14:30:00.250"
-- p3 = ["2"]
-- p4 = "100"
-- p5 = "0"
-- set log_comment = events clicks
-- set optimize_use_projections = 1
-- set use_index_for_in_with_subqueries = 1
-- set use_index_for_in_with_subqueries_max_values = 100
-- set ignore_data_skipping_indices = link_id_bloom
-- set use_top_k_dynamic_filtering = 0
