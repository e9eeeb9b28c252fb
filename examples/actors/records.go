// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/kazahana-db/kazahana/idgen"
	"github.com/kazahana-db/kazahana/persistable"
)

//go:generate go tool persistgen

// Account is the stored record of an account. The actor of that name keeps a copy of it.
type Account struct {
	_ persistable.Type      `persist:"Account"`
	_ persistable.Directory `persist:"examples/actors/accounts"`
	_ persistable.Unique    `persist:"Name"`

	ID      idgen.ID
	Name    string // the id of the actor
	Balance int64
}

// Transfer is money that was withdrawn from one account for another.
type Transfer struct {
	_ persistable.Type      `persist:"Transfer"`
	_ persistable.Directory `persist:"examples/actors/transfers"`

	ID       idgen.ID // made before the first attempt
	From, To string
	Amount   int64
	State    TransferState `persist:"index"`
}

// TransferState is the progress of a transfer.
type TransferState int

// The states of a transfer.
const (
	Open TransferState = iota // withdrawn and not deposited
	Done
)
