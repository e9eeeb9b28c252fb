// SPDX-License-Identifier: Apache-2.0

// Package stored reads what persistable stores key by key, without a store, for tools that
// examine a database: the headers of stores and of records, the work lists of index builds,
// the settings of tenants. docs/layout.md has the keys:
//
//	h, err := stored.DecodeHeader(value) // of the key ("S", type)
//	if err != nil {
//		return err // says what is wrong, and what to do
//	}
//	for _, ix := range h.Indexes {
//		fmt.Println(ix.KeyName, ix.Layout, ix.State)
//	}
//
// # Concurrency and transactions
//
// All functions may be called concurrently. They read no database.
package stored
