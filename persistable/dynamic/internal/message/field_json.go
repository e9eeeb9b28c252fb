// SPDX-License-Identifier: Apache-2.0

package message

// appendJSON appends the value of the field.
func (f *Field) appendJSON(b []byte, v any) []byte {
	switch {
	case f.IsList():
		return f.appendJSONList(b, v.([]any))
	case f.IsMap():
		return f.appendJSONMap(b, v.([]Entry))
	case v == nil && f.IsNullable():
		return append(b, "null"...)
	}
	return f.appendJSONValue(b, v)
}

// appendJSONValue appends one value.
func (f *Field) appendJSONValue(b []byte, v any) []byte {
	if f.Inner != nil {
		m, _ := v.(*Message)
		return m.AppendJSON(b)
	}
	return f.scalar.appendJSON(b, v)
}

func (f *Field) appendJSONList(b []byte, list []any) []byte {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = f.appendJSONValue(b, v)
	}
	return append(b, ']')
}

func (f *Field) appendJSONMap(b []byte, entries []Entry) []byte {
	b = append(b, '{')
	for i, e := range entries {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, f.key.text(e.Key)), ':')
		b = f.appendJSONValue(b, e.Value)
	}
	return append(b, '}')
}

// wanted says what one value of the field is in JSON.
func (f *Field) wanted() string {
	if f.Inner != nil {
		return "an object"
	}
	return f.scalar.wanted
}
