// SPDX-License-Identifier: Apache-2.0

// Package worklist divides work over many keys among the workers of many processes. The
// keys are divided into ranges. The ranges, their progress, and the claims of workers
// are a [List] in the database. So the work goes on after any crash, in any process, with any
// number of workers. A [Run] is the part that one process takes:
//
//	run := worklist.NewRun(job, options)
//	err := run.Work(ctx) // returns when no range has anything left
//
// Builds of indexes, verifications and copies of tenants are such jobs. A job begins and ends
// its list itself, in transactions of its own.
//
// # Each key once
//
// A batch is one transaction. It reads the range, works on the next keys, and moves the
// range's Next past them. It conflicts with every other change of the range's key. So
// what it writes is committed exactly once, with the progress: after a commit of unknown
// outcome (1021) the next attempt reads Next again, and goes on after what was committed.
//
// # Claims
//
// A worker claims a range with its first batch. The claim has a count that grows with
// each change. Other processes take the range over when they have seen the claim
// unchanged for a whole lease on their own clocks: no clocks are compared, as in package
// leasefdb. A worker that pauses changes the count. Claims only save work: the batches of a
// slow worker and of the one that took its range over change the same key, so one of two does
// not commit, and then finds the range claimed by the other.
//
// # Limits
//
// A batch has at most about 256 kB of reads and writes, or one unit of the job, so memory is
// bounded by the number of workers. A batch that conflicts, is too large or too old is
// halved; after a success it grows by a tenth. A worker works for a share of its time, and
// pauses for the rest. After conflicts the pause is longer, because conflicts cost writers as
// much as the worker: up to a second, and to ten times what the batch took.
//
// # Concurrency
//
// A Run is for one call of Work at a time, which runs its workers in goroutines.
package worklist
