// SPDX-License-Identifier: Apache-2.0

package measure

import "fmt"

// Counts is what a program asked of a database.
type Counts struct {
	// Rounds is the number of read rounds: times at which the program could not
	// go on before an answer came. Reads that are started before any of them is
	// waited for share a round; each further batch of a range read is one.
	Rounds int
	// Gets is the number of point reads (Get and GetKey), free ones left out.
	Gets int
	// Ranges is the number of range reads, Batches that of their batches.
	Ranges, Batches int
	// Free is the number of reads that cost no round since their answer comes
	// with the read version: GetReadVersion and [kv.MetadataVersionKey].
	Free int
	// Writes is the number of Set, Clear, ClearRange and Atomic calls.
	Writes int
	// Watches is the number of watches.
	Watches int
	// Begins is the number of transactions, Commits that of their commits
	// (attempts, failed ones too), Retries that of successful calls of OnError.
	Begins, Commits, Retries int
}

// Sub returns what was counted after before.
func (c Counts) Sub(before Counts) Counts {
	return Counts{
		Rounds: c.Rounds - before.Rounds, Gets: c.Gets - before.Gets,
		Ranges: c.Ranges - before.Ranges, Batches: c.Batches - before.Batches,
		Free: c.Free - before.Free, Writes: c.Writes - before.Writes, Watches: c.Watches - before.Watches,
		Begins: c.Begins - before.Begins, Commits: c.Commits - before.Commits, Retries: c.Retries - before.Retries,
	}
}

// String lists the counts that tell the cost of an operation.
func (c Counts) String() string {
	return fmt.Sprintf("%d rounds (%d gets, %d ranges in %d batches, %d free), %d writes, %d commits, %d retries",
		c.Rounds, c.Gets, c.Ranges, c.Batches, c.Free, c.Writes, c.Commits, c.Retries)
}
