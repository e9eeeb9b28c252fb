// SPDX-License-Identifier: Apache-2.0

package model

// Search keeps an entry for each word of the texts of a record.
var Search = &IndexKind{
	Name:    "search",
	Methods: searchMethods,
	Writes:  WriteCost{Create: 1, Remove: 1, Change: 2},
	Remark:  "A search reads the entries of all of its words, then the records of the page. A record writes an entry for each of its different words.\n",
}

// searchMethods lists the method of a Search.
func searchMethods(d *Index) []QueryMethod {
	return []QueryMethod{{
		Name: "Search" + goFields(d.Components), Kind: MethodSearch,
		Cost: ReadCost{"2", "n", "1 per word", "the entries of the words and the records' keys"},
	}}
}
