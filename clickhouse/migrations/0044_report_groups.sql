-- The tags and folders of links, for analysts: docs/sql.md. A row a link and tag, so that a join with events counts an event once for each
-- tag, as `groupBy=top_link_tags` does.
CREATE VIEW IF NOT EXISTS report_link_tags${local} ${cluster}
(
    workspace_id UInt64 COMMENT 'Workspace, as in report_workspaces',
    link_id UInt64 COMMENT 'Link, as in report_links',
    tag_id UInt64 COMMENT 'Number of the tag',
    id String COMMENT 'Id of the tag in the API, tag_…',
    name String COMMENT 'Name of the tag',
    color LowCardinality(String) COMMENT 'Color of the tag'
)
AS SELECT
    l.workspace_id AS workspace_id, l.link_id AS link_id, l.tag_id AS tag_id,
    JSONExtractString(t.data, 'id') AS id, t.name AS name, t.color AS color
FROM (SELECT workspace_id, id AS link_id, arrayJoin(tag_ids) AS tag_id FROM links${local} FINAL) AS l
INNER JOIN (SELECT workspace_id, id AS tag_id, data, name, color FROM tags${local} FINAL) AS t
    ON t.workspace_id = l.workspace_id AND t.tag_id = l.tag_id;

${distributed:report_link_tags:workspace_id}

CREATE VIEW IF NOT EXISTS report_link_folders${local} ${cluster}
(
    workspace_id UInt64 COMMENT 'Workspace, as in report_workspaces',
    link_id UInt64 COMMENT 'Link, as in report_links',
    folder_id UInt64 COMMENT 'Number of the folder',
    id String COMMENT 'Id of the folder in the API, fold_…',
    name String COMMENT 'Name of the folder'
)
AS SELECT
    l.workspace_id AS workspace_id, l.link_id AS link_id, l.folder_id AS folder_id,
    JSONExtractString(f.data, 'id') AS id, f.name AS name
FROM (SELECT workspace_id, id AS link_id, folder_id FROM links${local} FINAL WHERE folder_id != 0) AS l
INNER JOIN (SELECT workspace_id, id AS folder_id, data, name FROM folders${local} FINAL) AS f
    ON f.workspace_id = l.workspace_id AND f.folder_id = l.folder_id;

${distributed:report_link_folders:workspace_id}
