-- GET /analytics?interval=all&groupBy=timeseries&timezone=Europe%2FBerlin

SELECT roundDown(toInt64(toUnixTimestamp(slot)) * 1000, {p1:Array(Int64)}) AS key_0, toInt64(sum(clicks)) AS total_clicks
FROM workspace_slots
WHERE workspace_id = {p0:UInt64}
AND slot >= {p2:DateTime('UTC')}
AND slot <= {p3:DateTime('UTC')}
GROUP BY key_0
-- p0 = "500"
-- p1 = ["1794351600000","1794438000000","1794524400000","1794610800000","1794697200000","1794783600000","1794870000000","1794956400000","1795042800000","1795129200000","1795215600000"]
-- p2 = "2026-11-10 23:00:00"
-- p3 = "2026-11-21 22:45:00"
-- set log_comment = analytics clicks timeseries
-- set optimize_use_projections = 0
-- set use_index_for_in_with_subqueries = 0
-- set ignore_data_skipping_indices = link_id_bloom
