// SPDX-License-Identifier: Apache-2.0

// Package api names the types and functions by which the analyzers recognise
// transactions: those of Kazahana and of FoundationDB's Go binding.
//
//	if api.IsTransaction(pass.TypesInfo.TypeOf(arg)) {
//		// arg is a kv.Transaction, a persistable.Tx, an fdb.Transaction, …
//	}
//	if fn := api.Callee(pass.TypesInfo, call); api.Loops.Has(fn) {
//		// call runs its last argument again after a conflict
//	}
//
// Every name is in a [Set]. A test looks each of them up in the real packages.
package api

// The packages that have the names.
const (
	Module      = "github.com/kazahana-db/kazahana"
	KV          = Module + "/kv"
	Directory   = Module + "/directory"
	IDGen       = Module + "/idgen"
	Persistable = Module + "/persistable"
	Implement   = Module + "/persistable/persistimpl"

	FDB          = "github.com/apple/foundationdb/bindings/go/src/fdb"
	FDBDirectory = FDB + "/directory"
)

// Transactions are the types of transactions.
var Transactions = Set{
	{KV, "Transaction"},
	{KV, "ReadTransaction"},
	{Persistable, "Tx"},
	{FDB, "Transaction"},
	{FDB, "ReadTransaction"},
	{FDB, "Snapshot"},
}

// ReadTransactions are those that write nothing.
var ReadTransactions = Set{
	{KV, "ReadTransaction"},
	{FDB, "ReadTransaction"},
	{FDB, "Snapshot"},
}

// ReadLoops are the functions that run a function in a transaction that writes nothing, though
// its type does not say so.
var ReadLoops = Set{
	{KV, "RetryRead"},
	{Persistable, "DB.ReadTransact"},
}

// Transactors are the types that are a database or a transaction: a call with one
// belongs to the transaction, or is a transaction of its own.
var Transactors = Set{
	{KV, "Transactor"},
	{KV, "ReadTransactor"},
	{FDB, "Transactor"},
	{FDB, "ReadTransactor"},
}

// Databases are the types of databases.
var Databases = Set{
	{KV, "Database"},
	{Persistable, "DB"},
	{FDB, "Database"},
	{FDB, "Tenant"},
}

// Retries are the retry loops of a transaction that the caller began.
var Retries = Set{
	{KV, "Retry"},
	{KV, "RetryRead"},
}

// Loops are the functions that run a function without a parameter for the
// transaction again after a conflict.
var Loops = append(Set{{Persistable, "Store.Update"}}, Retries...)

// Futures are the types of results that belong to a transaction. Those with no value are
// missing: a watch and a commit outlive the transaction's function.
var Futures = Set{
	{KV, "Future"},
	{FDB, "FutureByteSlice"},
	{FDB, "FutureKey"},
	{FDB, "FutureInt64"},
	{FDB, "FutureKeyArray"},
	{FDB, "FutureStringSlice"},
}

// Outliving are the methods with futures that become ready after the commit.
var Outliving = Set{
	{KV, "Transaction.Watch"},
	{KV, "Transaction.GetVersionstamp"},
	{KV, "Transaction.CommitAsync"},
	{FDB, "Transaction.GetVersionstamp"},
}

// Ranges are the types of range reads under way.
var Ranges = Set{
	{KV, "RangeResult"},
	{FDB, "RangeResult"},
	{FDB, "RangeIterator"},
}

// Directories are the types of directories. Their prefix is valid in one transaction only.
var Directories = Set{{Directory, "Directory"}}

// PathMethods are the methods of a directory that do not use its prefix.
var PathMethods = Set{
	{Directory, "Directory.Create"},
	{Directory, "Directory.CreateOrOpen"},
	{Directory, "Directory.CreatePrefix"},
	{Directory, "Directory.Exists"},
	{Directory, "Directory.IsPartition"},
	{Directory, "Directory.Layer"},
	{Directory, "Directory.Layers"},
	{Directory, "Directory.List"},
	{Directory, "Directory.Move"},
	{Directory, "Directory.MoveTo"},
	{Directory, "Directory.Open"},
	{Directory, "Directory.Path"},
	{Directory, "Directory.Remove"},
	{Directory, "Directory.RemoveIfExists"},
	{Directory, "Directory.String"},
}

// Stores is the type that generated stores embed.
var Stores = Set{{Persistable, "Store"}}

// Queries are the types of queries, which read when they are used.
var Queries = Set{
	{Persistable, "Query"},
	{Persistable, "RangeQuery"},
	{Persistable, "RowQuery"},
	{Persistable, "RowRange"},
}

// Operations are the methods of a database that are a transaction of their own.
var Operations = Set{
	{KV, "Transactor.Transact"},
	{KV, "ReadTransactor.ReadTransact"},
	{Persistable, "DB.Transact"},
	{Persistable, "DB.ReadTransact"},
	{Persistable, "DB.ListDirectory"},
	{Persistable, "DB.RemoveDirectory"},
	{Persistable, "DB.RemoveDirectoryIf"},
	{Persistable, "DB.MoveDirectory"},
	{FDB, "Database.Transact"},
	{FDB, "Database.ReadTransact"},
	{FDB, "Tenant.Transact"},
	{FDB, "Tenant.ReadTransact"},
}

// Settings are the methods of a store and functions of transactions that ask the
// engine for nothing.
var Settings = Set{
	{Persistable, "Store.AllowScan"},
	{Persistable, "Store.In"},
	{Persistable, "Store.Indexes"},
	{Persistable, "Store.Path"},
}

// Attempts is the type that says the number of an attempt.
var Attempts = Set{{KV, "Attempt"}}

// Sources are the functions that make ids: methods of generators, and functions.
var Sources = Set{
	{IDGen, "NewID"},
	{IDGen, "NewInstalledID"},
	{IDGen, "NewIDOf"},
	{IDGen, "NewULID"},
	{IDGen, "NewULIDString"},
	{IDGen, "NewUUID"},
	{IDGen, "Generator.Next"},
	{IDGen, "Client.Next"},
	{IDGen, "Client.NextN"},
	{IDGen, "ULIDSource.Next"},
	{IDGen, "ULIDSource.NextString"},
	{IDGen, "UUIDSource.Next"},
}

// Setters are the functions of generated code that give a record its id.
var Setters = Set{{Implement, "SetID"}, {Implement, "TryNew"}}

// The types and functions of generated code by which the analyzer of queries finds its schemas.
var (
	Schemas     = Set{{Implement, "Schema"}}
	NewStore    = Set{{Implement, "NewStore"}}
	NewField    = Set{{Implement, "NewField"}}
	Conditions  = Set{{Persistable, "Or"}, {Persistable, "And"}}
	Prefixes    = Set{{Persistable, "HasPrefix"}}
	Searches    = Set{{Persistable, "Store.Find"}, {Persistable, "Store.FindOne"}}
	Comparisons = Set{
		{Persistable, "Field.Equal"},
		{Persistable, "Field.From"},
		{Persistable, "Field.After"},
		{Persistable, "Field.To"},
		{Persistable, "Field.Before"},
		{Persistable, "Field.In"},
	}
)

// All returns every name.
func All() Set {
	var all Set
	for _, s := range []Set{
		Transactions, ReadTransactions, ReadLoops, Transactors, Databases, Loops, Futures, Outliving, Ranges, Directories, PathMethods, Stores, Queries, Operations, Settings,
		Attempts, Sources, Setters, Schemas, NewStore, NewField, Conditions, Prefixes, Searches, Comparisons,
	} {
		all = append(all, s...)
	}
	return all
}
