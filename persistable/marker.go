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
// They have no size; put them first, because Go pads a struct that ends in a
// field without size.
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

	// Index is a single or compound index on the fields named, in that order.
	// Options: cover (entries hold a copy of the record), scatter=N (entries are
	// scattered over N shards by the ids of their records: for values that grow
	// with time), name=….
	Index struct{}

	// Unique is an index in which one record at most has a combination of values.
	// A record with a null among the values has no entry. Options as for Index
	// without scatter, because a lookup by values does not know the id that the
	// shard depends on.
	Unique struct{}
)
