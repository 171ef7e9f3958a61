-- The comments of 0029 said that all amounts are cents of a dollar.
ALTER TABLE ops_top_workspaces ${cluster}
    COMMENT COLUMN sale_amount 'Sum of their amounts, each in the smallest unit of its currency: cents of USD, but for sales without a rate and imported ones';

ALTER TABLE ops_top_links ${cluster}
    COMMENT COLUMN sale_amount 'Sum of their amounts, each in the smallest unit of its currency: cents of USD, but for sales without a rate and imported ones';
