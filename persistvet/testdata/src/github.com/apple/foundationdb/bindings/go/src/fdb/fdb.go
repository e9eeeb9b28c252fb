// SPDX-License-Identifier: Apache-2.0

// Package fdb has the declarations of FoundationDB's Go binding that the tests of
// analyzers need.
package fdb

type Key []byte

type KeyConvertible interface {
	FDBKey() Key
}

func (k Key) FDBKey() Key { return k }

type FutureByteSlice interface {
	Get() ([]byte, error)
	MustGet() []byte
}

type FutureNil interface {
	Get() error
}

type ReadTransaction interface {
	Get(key KeyConvertible) FutureByteSlice
	ReadTransactor
}

type Transactor interface {
	Transact(func(Transaction) (interface{}, error)) (interface{}, error)
	ReadTransactor
}

type ReadTransactor interface {
	ReadTransact(func(ReadTransaction) (interface{}, error)) (interface{}, error)
}

type Transaction struct{}

func (t Transaction) Transact(f func(Transaction) (interface{}, error)) (r interface{}, e error) {
	return nil, nil
}

func (t Transaction) ReadTransact(f func(ReadTransaction) (interface{}, error)) (r interface{}, e error) {
	return nil, nil
}

func (t Transaction) Get(key KeyConvertible) FutureByteSlice { return nil }

func (t Transaction) Set(key KeyConvertible, value []byte) {}

func (t Transaction) Watch(key KeyConvertible) FutureNil { return nil }

type Database struct{}

func (d Database) Transact(f func(Transaction) (interface{}, error)) (interface{}, error) {
	return nil, nil
}

func (d Database) ReadTransact(f func(ReadTransaction) (interface{}, error)) (interface{}, error) {
	return nil, nil
}
