// SPDX-License-Identifier: Apache-2.0

package postgres

import "github.com/kazahana-db/kazahana/idbuilder/store/internal/sqlstore"

var dialect = sqlstore.Dialect{
	Name:   "postgres",
	Schema: "(SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = to_regclass('schema_versions'))",
	Create: `INSERT INTO id_documents (kind, doc_key, value, expires_at, version)
		SELECT CAST(? AS VARCHAR), CAST(? AS VARCHAR), CAST(? AS JSON), CAST(? AS TIMESTAMPTZ), f.value + 1
		FROM (SELECT value FROM id_state WHERE name = 'floor' FOR SHARE) AS f WHERE ` + sqlstore.Guard + `
		ON CONFLICT DO NOTHING RETURNING version`,
	Advance: `UPDATE id_state SET value = value + 1 WHERE name = 'revision' AND ` + sqlstore.Guard + ` RETURNING value`,
	Reserve: `UPDATE id_sequences SET current_value = current_value + ?, version = version + 1, updated_at = CURRENT_TIMESTAMP
		WHERE key_name = ? AND current_value BETWEEN ? AND ? AND ` + sqlstore.Guard + ` RETURNING current_value, version`,
	Migrations: []sqlstore.Migration{
		{Description: "sequences, configurations, locks, versions, documents, state", Statements: initial},
	},
	Columns: []string{
		"id_sequences key_name character varying", "id_sequences current_value bigint", "id_sequences version bigint",
		"id_configs key_name character varying", "id_configs id_type character varying", "id_configs config_json jsonb",
		"distributed_locks lock_key character varying", "distributed_locks owner_id character varying",
		"schema_versions version integer", "schema_versions description character varying",
		"id_documents kind character varying", "id_documents doc_key character varying", "id_documents version bigint", "id_documents value json",
		"id_state name character varying", "id_state value bigint",
	},
}

// initial makes the tables. Keys are compared as bytes.
var initial = []string{
	`CREATE TABLE IF NOT EXISTS distributed_locks (
		lock_key VARCHAR(255) COLLATE "C" PRIMARY KEY,
		owner_id VARCHAR(255) NOT NULL,
		expires_at TIMESTAMPTZ NOT NULL,
		created_at TIMESTAMPTZ NOT NULL DEFAULT NOW())`,
	`CREATE TABLE IF NOT EXISTS schema_versions (
		id SERIAL PRIMARY KEY,
		version INT NOT NULL,
		applied_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),
		description VARCHAR(500))`,
	`CREATE UNIQUE INDEX IF NOT EXISTS idx_version ON schema_versions (version)`,
	`CREATE TABLE IF NOT EXISTS id_sequences (
		id BIGSERIAL PRIMARY KEY,
		key_name VARCHAR(255) COLLATE "C" NOT NULL,
		current_value BIGINT NOT NULL DEFAULT 0,
		version BIGINT NOT NULL DEFAULT 0,
		created_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),
		updated_at TIMESTAMPTZ NOT NULL DEFAULT NOW())`,
	`CREATE UNIQUE INDEX IF NOT EXISTS idx_key_name ON id_sequences (key_name)`,
	`CREATE TABLE IF NOT EXISTS id_configs (
		id BIGSERIAL PRIMARY KEY,
		key_name VARCHAR(255) COLLATE "C" NOT NULL,
		id_type VARCHAR(50) NOT NULL,
		config_json JSONB NOT NULL,
		created_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),
		updated_at TIMESTAMPTZ NOT NULL DEFAULT NOW())`,
	`CREATE UNIQUE INDEX IF NOT EXISTS idx_configs_key ON id_configs (key_name)`,
	`CREATE TABLE IF NOT EXISTS id_documents (
		kind VARCHAR(32) COLLATE "C" NOT NULL,
		doc_key VARCHAR(255) COLLATE "C" NOT NULL,
		version BIGINT NOT NULL,
		value JSON,
		expires_at TIMESTAMPTZ,
		created_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),
		updated_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),
		PRIMARY KEY (kind, doc_key))`,
	`CREATE INDEX IF NOT EXISTS idx_documents_expires ON id_documents (expires_at)`,
	`CREATE TABLE IF NOT EXISTS id_state (
		name VARCHAR(32) COLLATE "C" PRIMARY KEY,
		value BIGINT NOT NULL)`,
	`INSERT INTO id_state (name, value) VALUES ('revision', 0), ('floor', 0) ON CONFLICT DO NOTHING`,
}
