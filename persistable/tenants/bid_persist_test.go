// SPDX-License-Identifier: Apache-2.0

package tenants_test

import (
	"context"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/wire"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
)

// BidStore holds the records of type Bid of one directory.
type BidStore struct {
	persistable.Store[*Bid, int64]
}

// Feed returns the changes of the records in this directory.
func (s *BidStore) Feed() *persistable.Feed[*Bid, int64] { return persistable.FeedOf(&s.Store) }

// BidStoreOf returns the store of the directory auctions/{House}/bids.
func BidStoreOf(db *persistable.DB, house string) *BidStore {
	return &BidStore{persistimpl.NewStore[*Bid, int64](db, &bidSchema, house)}
}

// In returns the store bound to a transaction.
func (s *BidStore) In(tx persistable.Tx) *BidStore { return &BidStore{s.Store.In(tx)} }

// New returns a copy of the literal with the House of the directory.
// A literal that says another directory panics.
func (s *BidStore) New(literal Bid) *Bid {
	persistimpl.Must(persistimpl.TryFill(&s.Store, &bidSchema, &literal))
	return &literal
}

// CountByLot returns the number of the records with that Lot, in one read.
func (s *BidStore) CountByLot(ctx context.Context, lot string) (int64, error) {
	return persistimpl.Count(ctx, &s.Store, 0, persistimpl.AppendString(nil, lot))
}

// SumAmountByLot returns the sum of Amount of the records with that Lot, in one read.
// A sum that does not fit is a persistable.ErrOverflow.
func (s *BidStore) SumAmountByLot(ctx context.Context, lot string) (int64, error) {
	return persistimpl.Sum(ctx, &s.Store, 1, persistimpl.AppendString(nil, lot))
}

// RankOfAmountByLot returns how many of the records with that Lot have a lesser Amount: 0 for the least.
func (s *BidStore) RankOfAmountByLot(ctx context.Context, lot string, amount int64) (int64, error) {
	return persistimpl.RankOf(ctx, &s.Store, 2, persistimpl.AppendString(nil, lot), persistimpl.AppendInt(nil, amount))
}

// TopByAmountByLot returns n of the records with that Lot: those with the greatest Amount, the greatest first. An n below 1 is an error.
func (s *BidStore) TopByAmountByLot(ctx context.Context, lot string, n int) ([]*Bid, error) {
	return persistimpl.Top(ctx, &s.Store, 2, persistimpl.AppendString(nil, lot), n)
}

// bidSchema is what the run-time knows of Bid.
var bidSchema = persistimpl.Schema{
	Type:      "Bid",
	Directory: []persistimpl.PathElement{{Name: "auctions"}, {Field: "House"}, {Name: "bids"}},
	Lock: `type Bid
	origin example.com/shop
	id int
	directory "auctions/{House}/bids"
	field 1 ID int64
	field 2 House string
	field 3 Lot string
	field 4 Amount int64
`,
	IDs: &persistimpl.IDs[int64]{IsZero: persistimpl.IsZero[int64], Append: persistimpl.AppendInt[int64], Parse: persistimpl.ReadInt[int64]},
	ID:  func(v any) any { return &v.(*Bid).ID },
	CheckArgs: func(record any, args []string) (field, got string, ok bool) {
		v := record.(*Bid)
		if got := v.House; got != args[0] {
			return "House", got, false
		}
		return "", "", true
	},
	FillArgs: func(record any, args []string) {
		v := record.(*Bid)
		persistimpl.FillString(&v.House, args[0])
	},
	Encode: func(b []byte, v any) ([]byte, error) { return appendBid(b, v.(*Bid)) },
	Decode: func(b []byte, s *wire.Strings) (any, error) {
		v := new(Bid)
		return v, decodeBid(b, v, s)
	},
	Known:   &bidKnown,
	Version: func(record any) *[12]byte { return (*[12]byte)(&record.(*Bid).Version) },
	Indexes: []index.Definition{
		{Name: "Bid_count_Lot", Kind: "count", Fields: []string{"Lot"}, Signature: "string"},
		{Name: "Bid_sum_Amount_Lot", Kind: "sum", Fields: []string{"Lot"}, Of: "Amount", Signature: "string,int"},
		{Name: "Bid_rank_Lot_Amount", Kind: "rank", Fields: []string{"Lot", "Amount"}, Signature: "string,int"},
		{Name: "Bid_version", Kind: "version"},
	},
	Entries: func(i int, e *index.Entries, record any) {
		v := record.(*Bid)
		switch i {
		case 0:
			k := e.Begin()
			k = persistimpl.AppendString(k, v.Lot)
			e.End(k)
		case 1:
			k := e.Begin()
			k = persistimpl.AppendString(k, v.Lot)
			e.EndInt(k, v.Amount)
		case 2:
			k := e.Begin()
			k = persistimpl.AppendString(k, v.Lot)
			k = persistimpl.AppendInt(k, v.Amount)
			e.End(k)
		case 3:
			k := e.Begin()
			e.End(k)
		}
	},
}

// appendBid appends v to b in the protobuf wire format.
func appendBid(b []byte, v *Bid) ([]byte, error) {
	if v.ID != 0 {
		b = wire.AppendZigzag(append(b, 0x08), v.ID)
	}
	if v.House != "" {
		if !wire.ValidString(v.House) {
			return nil, &persistable.FieldError{Type: "Bid", Field: "House", Reason: "it is not valid UTF-8; a field of bytes is a []byte"}
		}
		b = wire.AppendString(append(b, 0x12), v.House)
	}
	if v.Lot != "" {
		if !wire.ValidString(v.Lot) {
			return nil, &persistable.FieldError{Type: "Bid", Field: "Lot", Reason: "it is not valid UTF-8; a field of bytes is a []byte"}
		}
		b = wire.AppendString(append(b, 0x1a), v.Lot)
	}
	if v.Amount != 0 {
		b = wire.AppendZigzag(append(b, 0x20), v.Amount)
	}
	return b, nil
}

// decodeBid reads b, in the protobuf wire format, into v.
func decodeBid(b []byte, v *Bid, s *wire.Strings) error {
	r := s.NewReader(b)
	for r.Next() {
		switch r.Field() {
		case 1:
			v.ID = r.Zigzag()
		case 2:
			v.House = r.String()
		case 3:
			v.Lot = r.String()
		case 4:
			v.Amount = r.Zigzag()
		default:
			r.Skip()
		}
	}
	return r.Err()
}

// bidKnown are the fields of Bid that this code knows; others survive a Save.
var bidKnown = wire.FieldSet{Numbers: []int32{1, 2, 3, 4}}
