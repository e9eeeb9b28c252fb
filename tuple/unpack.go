// SPDX-License-Identifier: Apache-2.0

package tuple

// Unpack decodes a key into its elements: nil, []byte, string, int64, uint64,
// [*big.Int], float32, float64, bool, [UUID], [Versionstamp] or [Tuple]. The
// result shares no memory with b and is never nil if err is nil. The error is a
// [*DecodeError] that wraps [ErrMalformed].
func Unpack(b []byte) (Tuple, error) {
	t := make(Tuple, 0, min(8, len(b)))
	for i := 0; i < len(b); {
		element, size, fail := decodeElement(b[i:], 0)
		if fail != nil {
			return nil, fail.at(i)
		}
		t = append(t, element)
		i += size
	}
	return t, nil
}

// Next decodes the element that b begins with, as [Unpack] does, and returns
// what follows it. Where b is empty the error wraps [ErrNoElement].
func Next(b []byte) (element any, rest []byte, err error) {
	if len(b) == 0 {
		return nil, nil, fault(b, ErrNoElement, "the key ends where an element was expected")
	}
	element, size, fail := decodeElement(b, 0)
	if fail != nil {
		return nil, nil, fail
	}
	return element, b[size:], nil
}

// Skip returns what follows the element that b begins with. It fails exactly
// where [Next] fails, and does not allocate otherwise.
func Skip(b []byte) (rest []byte, err error) {
	if len(b) == 0 {
		return nil, fault(b, ErrNoElement, "the key ends where an element was expected")
	}
	size, fail := sizeOf(b)
	if fail != nil {
		return nil, fail
	}
	return b[size:], nil
}

// ReadTuple decodes the nested tuple that b begins with.
func ReadTuple(b []byte) (v Tuple, rest []byte, err error) {
	if len(b) == 0 || b[0] != codeNested {
		return nil, nil, wrongType(b, "a nested tuple")
	}
	v, size, fail := decodeNested(b, 1)
	if fail != nil {
		return nil, nil, fail
	}
	return v, b[size:], nil
}

// decodeElement decodes the element that b, not empty, begins with, and its
// size. depth is how many tuples are around it.
func decodeElement(b []byte, depth int) (element any, size int, fail *DecodeError) {
	if b[0] == codeNested {
		return decodeNested(b, depth+1)
	}
	if b[0] == codeBytes || b[0] == codeString {
		return decodeText(b)
	}
	if b[0] >= codeBigNegative && b[0] <= codeBigPositive {
		n, fail := frameInteger(b)
		if fail != nil {
			return nil, 0, fail
		}
		return n.element(b[0]), n.size, nil
	}
	if size, fail = fixedSize(b); fail != nil {
		return nil, 0, fail
	}
	return decodeFixed(b), size, nil
}

func decodeText(b []byte) (element any, size int, fail *DecodeError) {
	t, fail := frameText(b)
	if fail != nil {
		return nil, 0, fail
	}
	if b[0] == codeString {
		return t.string(), t.size, nil
	}
	return t.bytes(), t.size, nil
}

// decodeFixed decodes an element that fixedSize has accepted.
func decodeFixed(b []byte) any {
	switch b[0] {
	case codeFloat32:
		return float32At(b)
	case codeFloat64:
		return float64At(b)
	case codeFalse, codeTrue:
		return b[0] == codeTrue
	case codeUUID:
		return UUID(b[1:17])
	case codeVersionstamp:
		return versionstampAt(b)
	}
	return nil
}

// fixedSize returns the size of the element that b begins with if its code
// determines it.
func fixedSize(b []byte) (int, *DecodeError) {
	size := 0
	switch b[0] {
	case codeNil, codeFalse, codeTrue:
		size = 1
	case codeFloat32:
		size = 5
	case codeFloat64:
		size = 9
	case codeUUID:
		size = 17
	case codeVersionstamp:
		size = 1 + stampSize
	default:
		return 0, fault(b, ErrMalformed, "no element begins with this byte")
	}
	if len(b) < size {
		return 0, tooShort(b, size)
	}
	return size, nil
}

// decodeNested decodes the nested tuple that b begins with. A zero byte ends
// it, unless an escape makes it a nil element; so does the end of the key, as
// in the official layer. depth is that of its elements.
func decodeNested(b []byte, depth int) (Tuple, int, *DecodeError) {
	if depth > maxDepth {
		return nil, 0, fault(b, ErrMalformed, "tuples nest deeper than %d", maxDepth)
	}
	t, i := Tuple{}, 1
	for i < len(b) {
		if b[i] != codeNil {
			element, size, fail := decodeElement(b[i:], depth)
			if fail != nil {
				return nil, 0, fail.at(i)
			}
			t = append(t, element)
			i += size
			continue
		}
		if i+1 == len(b) || b[i+1] != escape {
			return t, i + 1, nil
		}
		t = append(t, nil)
		i += 2
	}
	return t, i, nil
}

// sizeOf returns the size of the element that b, not empty, begins with.
func sizeOf(b []byte) (int, *DecodeError) {
	if b[0] != codeNested {
		return flatSize(b)
	}
	depth, i := 1, 1
	for depth > 0 && i < len(b) {
		switch {
		case b[i] == codeNested:
			if depth++; depth > maxDepth {
				return 0, fault(b[i:], ErrMalformed, "tuples nest deeper than %d", maxDepth).at(i)
			}
			i++
		case b[i] != codeNil:
			size, fail := flatSize(b[i:])
			if fail != nil {
				return 0, fail.at(i)
			}
			i += size
		case i+1 < len(b) && b[i+1] == escape:
			i += 2
		default:
			depth--
			i++
		}
	}
	return i, nil
}

// flatSize is sizeOf for elements that are not nested tuples.
func flatSize(b []byte) (int, *DecodeError) {
	switch {
	case b[0] == codeBytes || b[0] == codeString:
		t, fail := frameText(b)
		return t.size, fail
	case b[0] >= codeBigNegative && b[0] <= codeBigPositive:
		n, fail := frameInteger(b)
		return n.size, fail
	}
	return fixedSize(b)
}
