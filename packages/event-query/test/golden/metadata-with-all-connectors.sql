-- GET /events?event=leads&query=metadata%5B%27plan%27%5D%3Afree+OR+metadata%5B%27address%27%5D%5B%27city%27%5D%3AParis+AND+NOT+%28metadata%5B%27seats%27%5D%3C25+OR+metadata%5B%27x%27%5D%3A*%29

SELECT event_id, timestamp, link_id, payload, ip, event_name, customer_id
  FROM lead_events
  WHERE workspace_id = {p0:UInt64}
  AND timestamp >= {p1:DateTime64(3, 'UTC')}
  AND timestamp <= {p2:DateTime64(3, 'UTC')}
  AND (has(metadata_kv, {p3:String}) OR (has(metadata_kv, {p4:String}) AND NOT (((has(metadata_paths, {p5:String}) AND metadata_numbers[indexOf(metadata_paths, {p5:String})] < {p6:Float64}) OR (has(metadata_paths, {p7:String}) OR arrayExists(text -> startsWith(text, {p8:String}), metadata_paths))))))
  AND NOT (link_id IN (SELECT id FROM links WHERE workspace_id = {p0:UInt64} AND deleted = {p9:UInt8}))
  ORDER BY timestamp DESC, event_id DESC
  LIMIT {p10:UInt64} OFFSET {p11:UInt64}
-- p0 = "500"
-- p1 = "2026-11-20 14:30:00.250"
-- p2 = "2026-11-21 14:30:00.250"
-- p3 = "plan=free"
-- p4 = "address.city=Paris"
-- p5 = "seats="
-- p6 = 25
-- p7 = "x="
-- p8 = "x."
-- p9 = "1"
-- p10 = "100"
-- p11 = "0"
-- set log_comment = events leads
-- set optimize_use_projections = 0
-- set use_index_for_in_with_subqueries = 0
-- set ignore_data_skipping_indices = link_id_bloom
-- set use_top_k_dynamic_filtering = 0
