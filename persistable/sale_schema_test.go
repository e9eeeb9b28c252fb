// SPDX-License-Identifier: Apache-2.0

package persistable_test

import (
	"github.com/kazahana-db/kazahana/internal/index"
	"github.com/kazahana-db/kazahana/internal/wire"
	"github.com/kazahana-db/kazahana/persistable/persistimpl"
)

var saleSchema = newSaleSchema()

func newSaleSchema() persistimpl.Schema {
	return persistimpl.Schema{
		Type:      "Sale",
		Directory: []persistimpl.PathElement{{Name: "sales"}},
		Lock: `type Sale
	origin example.com/shop
	id string
	directory "sales"
	field 1 ID string
	field 2 Status int64
	field 3 Country string
	field 4 Tags []string
	field 5 Amount int64
	field 6 Units uint64
	field 7 Editor *string
	field 8 CreatedAt time
	field 9 Discount *int64
	field 10 Code *string
`,
		IDs:    persistimpl.ULIDStrings,
		ID:     func(v any) any { return &v.(*Sale).ID },
		Encode: func(b []byte, v any) ([]byte, error) { return appendSale(b, v.(*Sale)) },
		Decode: func(b []byte, s *wire.Strings) (any, error) {
			v := new(Sale)
			return v, decodeSale(b, v, s)
		},
		Known:   &saleKnown,
		Indexes: saleIndexes(),
		Entries: func(i int, e *index.Entries, record any) { saleEntries(i, e, record.(*Sale)) },
		Covers:  func(i int, b []byte, record any) []byte { return appendSaleCover(i, b, record.(*Sale)) },
		Values:  func(field string, b []byte, record any) []byte { return appendSaleValue(field, b, record.(*Sale)) },
	}
}

func saleIndexes() []index.Definition {
	return []index.Definition{
		{Name: "Sale_count", Kind: index.Count},
		{Name: "Sale_count_Status_Country", Kind: index.Count, Fields: []string{"Status", "Country"}, Signature: "int,string"},
		{Name: "Sale_count_Tags", Kind: index.Count, Fields: []string{"Tags"}, Sparse: []string{"Tags"}, Signature: "[]string"},
		{Name: "Sale_count_Editor", Kind: index.Count, Fields: []string{"Editor"}, Signature: "*string"},
		{Name: "Sale_sum_Amount_Status", Kind: index.Sum, Of: "Amount", Fields: []string{"Status"}, Signature: "int,int"},
		{Name: "Sale_sum_Units", Kind: index.Sum, Of: "Units", Signature: "int"},
		{Name: "Sale_sum_Discount_Tags", Kind: index.Sum, Of: "Discount", Fields: []string{"Tags"}, Sparse: []string{"Tags"}, Signature: "[]string,*int"},
		{Name: "Sale_Status_CreatedAt", Fields: []string{"Status", "CreatedAt"}, Descending: []string{"CreatedAt"}, Signature: "int,time"},
		{Name: "Sale_Country_Amount", Fields: []string{"Country", "Amount"}, CoverFields: []string{"Units", "Editor"}, Signature: "string,int,uint,*string"},
		{Name: "Sale_Editor_where_Status_Amount", Fields: []string{"Editor"}, Descending: []string{"Editor"}, Where: "Status=1 and Amount>0", Signature: "*string"},
		{Name: "Sale_Code", Fields: []string{"Code"}, Descending: []string{"Code"}, Unique: true, CoverFields: []string{"Amount"}, Sparse: []string{"Code"}, Signature: "*string,int"},
		{Name: "Sale_count_Status_where_Amount", Kind: index.Count, Fields: []string{"Status"}, Where: "Amount>0", Signature: "int"},
		{Name: "Sale_Discount", Fields: []string{"Discount"}, Scatter: 4, Signature: "*int"},
		{Name: "Sale_sum_Units_Tags", Kind: index.Sum, Of: "Units", Fields: []string{"Tags"}, Sparse: []string{"Tags"}, Signature: "[]string,int"},
	}
}

func saleEntries(i int, e *index.Entries, v *Sale) {
	switch i {
	case 0:
		e.End(e.Begin())
	case 1:
		k := e.Begin()
		k = persistimpl.AppendInt(k, v.Status)
		k = persistimpl.AppendString(k, v.Country)
		e.End(k)
	case 2:
		for i := range v.Tags {
			e.End(persistimpl.AppendString(e.Begin(), v.Tags[i]))
		}
	case 3:
		e.End(persistimpl.AppendNullable(e.Begin(), v.Editor, persistimpl.AppendString[string]))
	case 4:
		e.EndInt(persistimpl.AppendInt(e.Begin(), v.Status), v.Amount)
	case 5:
		e.EndUint(e.Begin(), v.Units)
	case 6:
		if v.Discount != nil {
			for i := range v.Tags {
				e.EndInt(persistimpl.AppendString(e.Begin(), v.Tags[i]), *v.Discount)
			}
		}
	case 7:
		k := e.Begin()
		k = persistimpl.AppendInt(k, v.Status)
		n := len(k)
		k = persistimpl.AppendTime(k, v.CreatedAt)
		e.End(persistimpl.Descend(k, n))
	case 8:
		k := e.Begin()
		k = persistimpl.AppendString(k, v.Country)
		k = persistimpl.AppendInt(k, v.Amount)
		e.End(k)
	case 9:
		if v.Status == 1 && v.Amount > 0 {
			k := e.Begin()
			n := len(k)
			k = persistimpl.AppendNullable(k, v.Editor, persistimpl.AppendString[string])
			e.End(persistimpl.Descend(k, n))
		}
	case 10:
		if v.Code != nil {
			k := e.Begin()
			n := len(k)
			k = persistimpl.AppendString(k, *v.Code)
			e.End(persistimpl.Descend(k, n))
		}
	case 11:
		if v.Amount > 0 {
			e.End(persistimpl.AppendInt(e.Begin(), v.Status))
		}
	case 12:
		e.End(persistimpl.AppendNullable(e.Begin(), v.Discount, persistimpl.AppendInt[int64]))
	case 13:
		for i := range v.Tags {
			e.EndUint(persistimpl.AppendString(e.Begin(), v.Tags[i]), v.Units)
		}
	}
}

func appendSaleValue(field string, b []byte, v *Sale) []byte {
	switch field {
	case "Status":
		b = persistimpl.AppendInt(b, v.Status)
	case "Country":
		b = persistimpl.AppendString(b, v.Country)
	case "Amount":
		b = persistimpl.AppendInt(b, v.Amount)
	case "Editor":
		b = persistimpl.AppendNullable(b, v.Editor, persistimpl.AppendString[string])
	case "CreatedAt":
		b = persistimpl.AppendTime(b, v.CreatedAt)
	case "Code":
		b = persistimpl.AppendNullable(b, v.Code, persistimpl.AppendString[string])
	case "Discount":
		b = persistimpl.AppendNullable(b, v.Discount, persistimpl.AppendInt[int64])
	case "Tags":
		for _, tag := range v.Tags {
			b = persistimpl.AppendString(b, tag)
		}
	case "Units":
		b = persistimpl.AppendUint(b, v.Units)
	}
	return b
}

func appendSaleCover(i int, b []byte, v *Sale) []byte {
	switch i {
	case 8:
		b = appendSaleUnits(b, v)
		b = appendSaleEditor(b, v)
	case 10:
		b = appendSaleAmount(b, v)
	}
	return b
}

func appendSaleAmount(b []byte, v *Sale) []byte {
	if v.Amount != 0 {
		b = wire.AppendZigzag(append(b, 0x28), v.Amount)
	}
	return b
}

func appendSaleUnits(b []byte, v *Sale) []byte {
	if v.Units != 0 {
		b = wire.AppendVarint(append(b, 0x30), v.Units)
	}
	return b
}

func appendSaleEditor(b []byte, v *Sale) []byte {
	if v.Editor != nil {
		b = wire.AppendString(append(b, 0x3a), *v.Editor)
	}
	return b
}

var saleKnown = wire.FieldSet{Numbers: []int32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}

func appendSale(b []byte, v *Sale) ([]byte, error) {
	if v.ID != "" {
		b = wire.AppendString(append(b, 0x0a), v.ID)
	}
	if v.Status != 0 {
		b = wire.AppendZigzag(append(b, 0x10), int64(v.Status))
	}
	if v.Country != "" {
		b = wire.AppendString(append(b, 0x1a), v.Country)
	}
	for _, tag := range v.Tags {
		b = wire.AppendString(append(b, 0x22), tag)
	}
	b = appendSaleAmount(b, v)
	b = appendSaleUnits(b, v)
	b = appendSaleEditor(b, v)
	if !v.CreatedAt.IsZero() {
		b = wire.AppendTimestamp(append(b, 0x42), v.CreatedAt)
	}
	if v.Discount != nil {
		b = wire.AppendZigzag(append(b, 0x48), *v.Discount)
	}
	if v.Code != nil {
		b = wire.AppendString(append(b, 0x52), *v.Code)
	}
	return b, nil
}

func decodeSale(b []byte, v *Sale, s *wire.Strings) error {
	r := s.NewReader(b)
	for r.Next() {
		switch r.Field() {
		case 1:
			v.ID = r.String()
		case 2:
			v.Status = OrderStatus(r.Int(64))
		case 3:
			v.Country = r.String()
		case 4:
			v.Tags = append(v.Tags, r.String())
		case 5:
			v.Amount = r.Int(64)
		case 6:
			v.Units = r.Uint(64)
		case 7:
			v.Editor = ptr(r.String())
		case 8:
			v.CreatedAt = r.Timestamp()
		case 9:
			v.Discount = ptr(r.Int(64))
		case 10:
			v.Code = ptr(r.String())
		default:
			r.Skip()
		}
	}
	return r.Err()
}
