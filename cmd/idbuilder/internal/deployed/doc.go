// SPDX-License-Identifier: Apache-2.0

// Package deployed reads the folder of the deployed ID worker's file store, and
// plans what a store of this service must hold for its keys to go on.
//
//	folder, err := deployed.Read("./data")
//	if err != nil {
//		return err
//	}
//	plan, err := folder.Plan(deployed.Options{Margin: 1000})
//	if err != nil {
//		return err // all faults, each with its file
//	}
//	results, err := plan.Apply(ctx, store)
//
// # Folder
//
//	sequences/orders.json            {"name", "id_type", "current_value", "version", "updated_at"}
//	sequences/invoices_20261122.json the sequence of a formatted key in a period
//	configs/increment/orders.json    also snowflake and formatted
//
// The worker changes these files in place, so a crash can leave a torn one. It
// replaces characters of names by "_", so two keys can share a file. Current_value
// is the number that the worker reserves next; the numbers before it were given, or
// lost. A plan continues a margin after it, because the folder may be an older
// copy.
package deployed
