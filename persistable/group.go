// SPDX-License-Identifier: Apache-2.0

package persistable

// GroupCount is a group of records and the number of records in it.
type GroupCount[G any] struct {
	Group G // the value that the records have in common; of several fields, a struct
	Count int64
}

// GroupSum is a group of records and the sum of one field of theirs.
type GroupSum[G, S any] struct {
	Group G // the value that the records have in common; of several fields, a struct
	Sum   S
}
