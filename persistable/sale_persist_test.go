// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"context"
	"iter"
	"time"

	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/wire"
	"github.com/kazahana-db/kazahana/persistable"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
)

// Sale has indexes of the kinds that Order and Article have not: counts, sums, partial
// ones, descending fields, copies of chosen fields. Its store is written by hand in
// the form that persistgen writes.
type Sale struct {
	ID        string
	Status    OrderStatus
	Country   string
	Tags      []string
	Amount    int64
	Units     uint64
	Editor    *string
	CreatedAt time.Time
	Discount  *int64
	Code      *string
}

type SaleStore struct {
	persistable.Store[*Sale, string]
}

func SaleStoreOf(db *persistable.DB) *SaleStore { return saleStoreOf(db, &saleSchema) }

func saleStoreOf(db *persistable.DB, schema *persistimpl.Schema) *SaleStore {
	return &SaleStore{persistimpl.NewStore[*Sale, string](db, schema)}
}

func (s *SaleStore) In(tx persistable.Tx) *SaleStore { return &SaleStore{s.Store.In(tx)} }

func (s *SaleStore) CountAll(ctx context.Context) (int64, error) {
	return persistimpl.Count(ctx, &s.Store, 0, nil)
}

func (s *SaleStore) CountByStatusCountry(ctx context.Context, status OrderStatus, country string) (int64, error) {
	k := persistimpl.AppendInt(nil, status)
	k = persistimpl.AppendString(k, country)
	return persistimpl.Count(ctx, &s.Store, 1, k)
}

type SaleStatusCountry struct {
	Status  OrderStatus
	Country string
}

func readSaleStatusCountry(b []byte) (g SaleStatusCountry, rest []byte, err error) {
	if g.Status, rest, err = persistimpl.ReadInt[OrderStatus](b); err == nil {
		g.Country, rest, err = persistimpl.ReadString[string](rest)
	}
	return g, rest, err
}

func (s *SaleStore) CountsByStatusCountry(ctx context.Context) iter.Seq2[persistable.GroupCount[SaleStatusCountry], error] {
	return persistimpl.Counts(ctx, &s.Store, 1, readSaleStatusCountry)
}

func (s *SaleStore) CountByTags(ctx context.Context, tag string) (int64, error) {
	return persistimpl.Count(ctx, &s.Store, 2, persistimpl.AppendString(nil, tag))
}

func (s *SaleStore) CountsByTags(ctx context.Context) iter.Seq2[persistable.GroupCount[string], error] {
	return persistimpl.Counts(ctx, &s.Store, 2, persistimpl.ReadString[string])
}

func (s *SaleStore) CountByEditor(ctx context.Context, editor *string) (int64, error) {
	return persistimpl.Count(ctx, &s.Store, 3, persistimpl.AppendNullable(nil, editor, persistimpl.AppendString[string]))
}

func (s *SaleStore) SumAmountByStatus(ctx context.Context, status OrderStatus) (int64, error) {
	return persistimpl.Sum(ctx, &s.Store, 4, persistimpl.AppendInt(nil, status))
}

func (s *SaleStore) SumsAmountByStatus(ctx context.Context) iter.Seq2[persistable.GroupSum[OrderStatus, int64], error] {
	return persistimpl.Sums(ctx, &s.Store, 4, persistimpl.ReadInt[OrderStatus])
}

func (s *SaleStore) SumUnits(ctx context.Context) (uint64, error) {
	return persistimpl.SumUint(ctx, &s.Store, 5, nil)
}

func (s *SaleStore) SumDiscountByTags(ctx context.Context, tag string) (int64, error) {
	return persistimpl.Sum(ctx, &s.Store, 6, persistimpl.AppendString(nil, tag))
}

func (s *SaleStore) SumsUnitsByTags(ctx context.Context) iter.Seq2[persistable.GroupSum[string, uint64], error] {
	return persistimpl.SumsUint(ctx, &s.Store, 13, persistimpl.ReadString[string])
}

func (s *SaleStore) ByStatusCreatedAt(status OrderStatus) *persistable.RangeQuery[*Sale, time.Time] {
	return (*persistable.RangeQuery[*Sale, time.Time])(persistimpl.DescendingRange(persistimpl.Source(&s.Store), 7, persistimpl.AppendInt(nil, status), persistimpl.AppendTime))
}

func (s *SaleStore) ByCountryAmount(country string) *persistable.RangeQuery[*Sale, int64] {
	return (*persistable.RangeQuery[*Sale, int64])(persistimpl.Range(persistimpl.Source(&s.Store), 8, persistimpl.AppendString(nil, country), persistimpl.AppendInt[int64]))
}

type SaleByCountryAmountRow struct {
	ID      string
	Country string
	Amount  int64
	Units   uint64
	Editor  *string
}

func (s *SaleStore) ByCountryAmountRows(country string) *persistable.RowRange[SaleByCountryAmountRow, int64] {
	return persistimpl.RowRange(s.ByCountryAmount(country), readSaleByCountryAmountRow)
}

func readSaleByCountryAmountRow(row *persistimpl.Row) (v SaleByCountryAmountRow, err error) {
	s := &row.Strings
	rest := row.Values
	if v.Country, rest, err = persistimpl.ReadRowString[string](row, rest); err != nil {
		return v, err
	}
	if v.Amount, rest, err = persistimpl.ReadInt[int64](rest); err != nil {
		return v, err
	}
	if v.ID, rest, err = persistimpl.ReadString[string](rest); err != nil {
		return v, err
	}
	if err = persistimpl.CheckEnd(rest); err != nil {
		return v, err
	}
	r := s.NewReader(row.Cover)
	for r.Next() {
		switch r.Field() {
		case 6:
			v.Units = r.Uint(64)
		case 7:
			value := r.String()
			v.Editor = &value
		default:
			r.Skip()
		}
	}
	return v, r.Err()
}

func (s *SaleStore) MinAmountByCountry(ctx context.Context, country string) (int64, bool, error) {
	return persistimpl.Min(ctx, &s.Store, 8, persistimpl.AppendString(nil, country), persistimpl.ReadInt[int64])
}

func (s *SaleStore) MaxAmountByCountry(ctx context.Context, country string) (int64, bool, error) {
	return persistimpl.Max(ctx, &s.Store, 8, persistimpl.AppendString(nil, country), persistimpl.ReadInt[int64])
}

func (s *SaleStore) MinCreatedAtByStatus(ctx context.Context, status OrderStatus) (time.Time, bool, error) {
	return persistimpl.Min(ctx, &s.Store, 7, persistimpl.AppendInt(nil, status), readTime)
}

func (s *SaleStore) MaxCreatedAtByStatus(ctx context.Context, status OrderStatus) (time.Time, bool, error) {
	return persistimpl.Max(ctx, &s.Store, 7, persistimpl.AppendInt(nil, status), readTime)
}

// readTime reads what persistimpl.AppendTime writes, for times that are a number of
// nanoseconds in 64 bits.
func readTime(b []byte) (time.Time, []byte, error) {
	n, rest, err := persistimpl.ReadInt[int64](b)
	return time.Unix(0, n).UTC(), rest, err
}

func (s *SaleStore) ByEditorWhereStatusAmount() *persistable.RangeQuery[*Sale, *string] {
	return (*persistable.RangeQuery[*Sale, *string])(persistimpl.DescendingRange(persistimpl.Source(&s.Store), 9, nil, persistimpl.Nullable(persistimpl.AppendString[string])))
}

func (s *SaleStore) ByCode(ctx context.Context, code string) (*Sale, error) {
	return persistimpl.Unique(ctx, &s.Store, 10, persistimpl.Descend(persistimpl.AppendString(nil, code), 0))
}

func (s *SaleStore) OrderedByCode() *persistable.RangeQuery[*Sale, string] {
	return (*persistable.RangeQuery[*Sale, string])(persistimpl.DescendingRange(persistimpl.Source(&s.Store), 10, nil, persistimpl.AppendString[string]))
}

type SaleByCodeRow struct {
	ID, Code string
	Amount   int64
}

func (s *SaleStore) OrderedByCodeRows() *persistable.RowRange[SaleByCodeRow, string] {
	return persistimpl.RowRange(s.OrderedByCode(), func(row *persistimpl.Row) (v SaleByCodeRow, err error) {
		if v.ID, _, err = persistimpl.ReadString[string](row.ID); err != nil {
			return v, err
		}
		code, _, err := index.ReadDescended(nil, row.Values)
		if err != nil {
			return v, err
		}
		if v.Code, _, err = persistimpl.ReadString[string](code); err != nil {
			return v, err
		}
		r := wire.NewReader(row.Cover)
		for r.Next() {
			switch r.Field() {
			case 5:
				v.Amount = r.Int(64)
			default:
				r.Skip()
			}
		}
		return v, r.Err()
	})
}

func (s *SaleStore) CountByStatusWhereAmount(ctx context.Context, status OrderStatus) (int64, error) {
	return persistimpl.Count(ctx, &s.Store, 11, persistimpl.AppendInt(nil, status))
}

func (s *SaleStore) MinDiscount(ctx context.Context) (int64, bool, error) {
	return persistimpl.Min(ctx, &s.Store, 12, nil, persistimpl.ReadInt[int64])
}

func (s *SaleStore) MaxDiscount(ctx context.Context) (int64, bool, error) {
	return persistimpl.Max(ctx, &s.Store, 12, nil, persistimpl.ReadInt[int64])
}

var SaleFields = struct {
	Status    persistable.Field[*Sale, OrderStatus]
	Country   persistable.Field[*Sale, string]
	Amount    persistable.Field[*Sale, int64]
	Editor    persistable.Field[*Sale, *string]
	CreatedAt persistable.Field[*Sale, time.Time]
	Code      persistable.Field[*Sale, *string]
	Discount  persistable.Field[*Sale, *int64]
	Tags      persistable.Field[*Sale, string]
	Units     persistable.Field[*Sale, uint64]
}{
	Status:    persistable.Field[*Sale, OrderStatus](persistimpl.NewField("Status", persistimpl.AppendInt[OrderStatus])),
	Country:   persistable.Field[*Sale, string](persistimpl.NewField("Country", persistimpl.AppendString[string])),
	Amount:    persistable.Field[*Sale, int64](persistimpl.NewField("Amount", persistimpl.AppendInt[int64])),
	Editor:    persistable.Field[*Sale, *string](persistimpl.NewField("Editor", persistimpl.Nullable(persistimpl.AppendString[string]))),
	CreatedAt: persistable.Field[*Sale, time.Time](persistimpl.NewField("CreatedAt", persistimpl.AppendTime)),
	Code:      persistable.Field[*Sale, *string](persistimpl.NewField("Code", persistimpl.Nullable(persistimpl.AppendString[string]))),
	Discount:  persistable.Field[*Sale, *int64](persistimpl.NewField("Discount", persistimpl.Nullable(persistimpl.AppendInt[int64]))),
	Tags:      persistable.Field[*Sale, string](persistimpl.NewField("Tags", persistimpl.AppendString[string])),
	Units:     persistable.Field[*Sale, uint64](persistimpl.NewField("Units", persistimpl.AppendUint[uint64])),
}
