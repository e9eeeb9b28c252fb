// SPDX-License-Identifier: Apache-2.0

package persistable

// The marker types carry a struct's options in the tags of blank fields. A
// struct is persistable if it has at least one of them:
//
//	type Order struct {
//		_ persistable.Type      `persist:"Order"`
//		_ persistable.Directory `persist:"tenants/{TenantID}/orders,layer=partition"`
//		_ persistable.Index     `persist:"Status,CreatedAt"`
//		_ persistable.Unique    `persist:"Number"`
//		…
//	}
//
// They have no size, but for Version; put them first, because Go pads a struct that ends
// in a field without size.
type (
	// Type names the type in keys, so that the struct can be renamed. Without
	// it the name is the struct's. The option scatter=N, with or without a name,
	// scatters the records of each directory over N shards by their ids, N a power
	// of two from 2 to 256. Otherwise records whose ids grow with time are all
	// written at one end of a range: on a cluster, on one storage server. Scans in
	// the order of ids then read N ranges side by side.
	Type struct{}

	// Directory is the path of the directory that holds the records. "/"
	// separates elements. An element {Field} is replaced by the value of that
	// field. The option layer=partition makes the directory of the last {Field}
	// a partition. Without it the path is the type's name.
	Directory struct{}

	// Index is a single or compound index on the fields named, in that order;
	// "CreatedAt desc" keeps a field in descending order. Options: cover (entries hold
	// a copy of the record), cover=A+B (entries hold these fields, which the methods
	// that end in Rows return without a read of the record), where=… (only records
	// that fulfil the condition have an entry: a partial index), scatter=N (entries are
	// scattered over N shards by the ids of their records: for values that grow
	// with time), name=….
	//
	// A condition compares fields with literals or with constants of the package:
	// "where=Status=Paid and Total>0". The comparisons are = != < <= > >=, =null and
	// !=null; a bool stands alone, or behind "not".
	Index struct{}

	// Unique is an index in which one record at most has a combination of values.
	// A record with a null among the values has no entry. Options as for Index
	// without scatter, because a lookup by values does not know the id that the
	// shard depends on. With where=… it is unique among the records that fulfil the
	// condition.
	Unique struct{}

	// Count keeps the number of records, or of those with each combination of values
	// of the fields behind by=: `persist:"by=Status+Country"`. Options: where=…, name=….
	// A write adds to a counter without reading it, so writes of one group do not
	// conflict; a read of the number takes one key. Without a tag it counts all records.
	Count struct{}

	// Sum keeps the sum of a field, which is an integer or a time.Duration, of all
	// records or of each group: `persist:"Amount,by=Status"`. Options as for Count. It
	// is kept in 128 bits and so never wraps; a method that cannot return it in 64 bits
	// returns a *OverflowError. A null adds nothing.
	Sum struct{}

	// Min answers for the least value of a field, of all records or of each group:
	// `persist:"Amount,by=Status"`. It uses an ordinary index on the group's fields and
	// the field, and declares it where there is none: it stays exact when records are
	// deleted. A null is no value. Options as for Count.
	Min struct{}

	// Max is Min for the greatest value; both use the same index.
	Max struct{}

	// Rank keeps the order of the records by a field, of all or of each group, in a
	// skip list: `persist:"Score,by=Game"`. It answers in a few reads how many records
	// have lesser values than a given one, and which record is the n-th. Options
	// as for Count.
	Rank struct{}
)
