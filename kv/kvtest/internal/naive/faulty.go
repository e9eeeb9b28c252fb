// SPDX-License-Identifier: Apache-2.0

package naive

import (
	"testing"

	"github.com/kazahana-db/kazahana/kv"
)

// faulty has the wrong engines by the name of their fault: each function returns
// what a new database does to its transactions.
var faulty = map[string]func() func(kv.Transaction) kv.Transaction{
	"no read conflicts":                  always(func(tx kv.Transaction) kv.Transaction { return noReadConflict{tx} }),
	"drifting reads":                     always(func(tx kv.Transaction) kv.Transaction { return driftingReads{tx} }),
	"dirty writes":                       always(func(tx kv.Transaction) kv.Transaction { return dirtyWrites{tx} }),
	"no selector conflicts":              always(func(tx kv.Transaction) kv.Transaction { return quietSelectors{tx} }),
	"no phantoms":                        always(func(tx kv.Transaction) kv.Transaction { return noPhantom{tx} }),
	"ranges end with their first batch":  always(func(tx kv.Transaction) kv.Transaction { return lossyRange{tx} }),
	"absent keys are empty":              always(func(tx kv.Transaction) kv.Transaction { return absentIsEmpty{tx} }),
	"equal operations are merged":        always(func(tx kv.Transaction) kv.Transaction { return mergedOperations{tx.(*naiveTx)} }),
	"additions conflict":                 always(func(tx kv.Transaction) kv.Transaction { return addReads{tx} }),
	"watches never fire":                 always(func(tx kv.Transaction) kv.Transaction { return deafWatch{tx} }),
	"everything is retried":              always(func(tx kv.Transaction) kv.Transaction { return eagerRetry{tx} }),
	"cleared ranges stay":                always(func(tx kv.Transaction) kv.Transaction { return forgetfulClear{tx} }),
	"snapshot reads conflict":            always(func(tx kv.Transaction) kv.Transaction { return sharedSnapshot{tx} }),
	"commits have the read version":      always(func(tx kv.Transaction) kv.Transaction { return denseVersion{tx} }),
	"writes are reads":                   always(func(tx kv.Transaction) kv.Transaction { return overeagerConflict{tx} }),
	"sizes are not known":                always(func(tx kv.Transaction) kv.Transaction { return noSizes{tx} }),
	"ranges are not split":               always(func(tx kv.Transaction) kv.Transaction { return noSplits{tx} }),
	"sizes are reads":                    always(func(tx kv.Transaction) kv.Transaction { return readingSizes{tx} }),
	"conflicts are not told":             always(func(tx kv.Transaction) kv.Transaction { return muteConflicts{tx} }),
	"conflicts are forgotten by OnError": always(func(tx kv.Transaction) kv.Transaction { return forgetsConflicts{tx} }),
	"arguments are used after the call":  always(func(tx kv.Transaction) kv.Transaction { return keepsArguments{tx, new([][2][]byte)} }),
	"all reads are told as conflicts":    always(func(tx kv.Transaction) kv.Transaction { return &allConflicts{Transaction: tx} }),
	"conflicts are told unasked":         always(func(tx kv.Transaction) kv.Transaction { return chattyConflicts{tx}.asking() }),
	"sizes do not shrink":                growingSizesOf,
	"stale reads":                        staleReads,
	"defaults are forgotten": always(func(tx kv.Transaction) kv.Transaction {
		tx.(*naiveTx).db.defaults = kv.TransactionDefaults{}
		return tx
	}),
}

// OpenFaulty returns the naive engine with a fault.
func OpenFaulty(tb testing.TB, fault string) kv.Database {
	tb.Helper()
	return OpenFaultyWith(tb, fault, kv.TransactionDefaults{})
}

// OpenFaultyWith is OpenFaulty with defaults of transactions.
func OpenFaultyWith(tb testing.TB, fault string, d kv.TransactionDefaults) kv.Database {
	tb.Helper()
	spoil, ok := faulty[fault]
	if !ok {
		tb.Fatalf("there is no wrong engine %q", fault)
	}
	return wrongDB{OpenWith(tb, d), spoil()}
}

func always(spoil func(kv.Transaction) kv.Transaction) func() func(kv.Transaction) kv.Transaction {
	return func() func(kv.Transaction) kv.Transaction { return spoil }
}
