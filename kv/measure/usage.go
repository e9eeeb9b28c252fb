// SPDX-License-Identifier: Apache-2.0

package measure

// Usage is what a program asked of a database, and what it got and gave.
type Usage struct {
	Counts

	// Pairs is how many pairs were read, BytesRead the length of their keys and values.
	// Reads whose results the program never took are not counted.
	Pairs, BytesRead int
	// BytesWritten is the length of what Set, Clear, ClearRange and Atomic were given, of
	// all attempts.
	BytesWritten int
}

// Sub returns what was used after before.
func (u Usage) Sub(before Usage) Usage {
	return Usage{
		Counts: u.Counts.Sub(before.Counts), Pairs: u.Pairs - before.Pairs,
		BytesRead: u.BytesRead - before.BytesRead, BytesWritten: u.BytesWritten - before.BytesWritten,
	}
}
