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
// The worker changes these files in place, so that a crash can leave one torn, and
// replaces characters of names by "_", so that two keys can share one. Current_value
// is the number that it reserves next; the numbers before it are given, or lost. A plan
// goes on behind it, by a margin, in case the folder is an older copy.
package deployed
