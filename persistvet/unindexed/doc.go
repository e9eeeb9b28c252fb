// SPDX-License-Identifier: Apache-2.0

// Package unindexed reports queries by fields that no index of the generated schema serves,
// for which Find returns a *persistable.NoIndexError:
//
//	q, err := orders.Find(OrderFields.Amount.From(100))             // reported: no index begins with Amount
//	q, err := orders.AllowScan().Find(OrderFields.Amount.From(100)) // reads all orders, on purpose
//
// It reads the generated schemas, also those of imported packages.
package unindexed
