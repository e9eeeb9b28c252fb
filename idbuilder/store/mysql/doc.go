// SPDX-License-Identifier: Apache-2.0

// Package mysql keeps the state of the ID service in a database of MySQL (8.0.17
// or newer) or MariaDB (10.6 or newer).
//
//	s, err := mysql.Open(mysql.Options{URL: "mysql://idbuilder:secret@db.example.com/idbuilder"})
//	if err != nil {
//		return err
//	}
//	defer s.Close()
//	if err := s.Init(ctx); err != nil { // connects, and creates or migrates the tables
//		return err
//	}
//
// The user needs the rights CREATE, INDEX, SELECT, INSERT, UPDATE and DELETE on
// the database. Tables are of InnoDB; keys are compared as bytes, spaces at their
// end included. Package sqlstore says what the tables are and why calls are
// atomic. A reservation reads the sequence and moves it by an UPDATE that compares the
// version: no lock outlasts a statement, and the isolation level makes no difference.
// Sessions use READ COMMITTED, which locks no gaps, and autocommit, whatever the server's
// defaults are.
//
// The tests use MariaDB, where the type JSON is another name of LONGTEXT with a
// check. MySQL's JSON rewrites what it stores: members in another order, numbers
// beyond 64 bits as floating point.
//
// # What is promised
//
// Everything that the server has acknowledged is on its disk: Init refuses a server if
// innodb_flush_log_at_trx_commit is not 1, or if it has a binary log and
// sync_binlog is not 1 (it then forgets, after a crash of its machine, commits
// that the binary log does not have), unless Options.AcceptLoss allows it. So after
// a crash of the server or its machine no number is given twice.
//
// A failover to a replica that lacks commits can repeat numbers. Replication is
// asynchronous unless set up otherwise; semi-synchronous replication falls back to
// asynchronous when no replica answers in time (set rpl_semi_sync_source_timeout as
// high as possible). Group Replication and Galera certify each commit: there an
// UPDATE of the same version on two members ends in a deadlock error for one of
// them, which the store tries again. With asynchronous replication, or after a
// restore of a backup, move the sequences ahead before workers start, by more than
// was reserved in the lost time: UPDATE id_sequences SET current_value =
// current_value + …, version = version + 1.
//
// TIMESTAMP columns of the specified tables end with the year 2038 on servers that
// have not widened them; the program does not read these columns.
package mysql
