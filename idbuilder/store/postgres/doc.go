// SPDX-License-Identifier: Apache-2.0

// Package postgres keeps the state of the ID service in a PostgreSQL database.
//
//	s, err := postgres.Open(postgres.Options{URL: "postgres://idbuilder:secret@db.example.com/idbuilder"})
//	if err != nil {
//		return err
//	}
//	defer s.Close()
//	if err := s.Init(ctx); err != nil { // connects, and creates or migrates the tables
//		return err
//	}
//
// The user needs the right to create tables in the first schema of its search
// path; the database, the encoding UTF8. Package sqlstore says what the
// tables are and why calls are atomic. A reservation is one UPDATE … RETURNING
// of one row; many that come for one key at a time queue for its row lock.
//
// # What is promised
//
// Everything that the server has acknowledged is on its disk: the sessions of this
// package raise synchronous_commit to on if it is off or local, and Init refuses a
// server that has fsync or full_page_writes off, unless Options.AcceptLoss allows
// it. So after a crash of the server or its machine no number is given twice.
//
// A failover to a standby that lacks commits can repeat numbers: the last reserved
// ones are then reserved again. Only synchronous replication excludes that
// (synchronous_standby_names set, and a failover to such a standby). With
// asynchronous replication, or after a restore of a backup, move the sequences
// ahead before workers start, by more than was reserved in the lost time: UPDATE
// id_sequences SET current_value = current_value + …, version = version + 1.
//
// Sessions have settings, prepared statements and, during Init, an advisory lock:
// a pooler between must keep sessions apart (PgBouncer: pool_mode = session). A
// URL may name several hosts; target_session_attrs=read-write then finds the primary.
package postgres
