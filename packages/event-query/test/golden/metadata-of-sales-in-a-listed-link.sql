-- GET /events?event=sales&linkId=link_00000000001&query=metadata%5B%27plan%27%5D%3Apro

SELECT event_id, timestamp, link_id, payload, ip, event_name, customer_id
  FROM sale_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p1:DateTime64(3, 'UTC')}
  AND timestamp <= {p2:DateTime64(3, 'UTC')}
  AND link_id IN {p3:Array(UInt64)}
  AND has(metadata_kv, {p4:String})
  AND NOT (link_id IN (SELECT id FROM links WHERE workspace_id = {p0:UInt64} AND id IN {p5:Array(UInt64)} AND deleted = {p6:UInt8}))
  ORDER BY workspace_id DESC, link_id DESC, timestamp DESC, event_id DESC
  LIMIT {p7:UInt64} OFFSET {p8:UInt64}
-- p0 = "500"
-- p1 = "2026-11-20 14:30:00.250"
-- p2 = "2026-11-21 14:30:00.250"
-- p3 = ["1"]
-- p4 = "plan=pro"
-- p5 = ["1"]
-- p6 = "1"
-- p7 = "100"
-- p8 = "0"
-- set log_comment = events sales
-- set optimize_use_projections = 1
-- set use_index_for_in_with_subqueries = 1
-- set use_top_k_dynamic_filtering = 0
