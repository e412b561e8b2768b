// Package gate has an immutable set of strings with a perfect hash, for a
// question that is asked very often of a set that changes hardly ever.
//
// A name is read as two words, its first and its last eight bytes, which
// overlap in a name of up to sixteen bytes and then hold all of it. The words
// and the length choose a slot, and comparing them with the slot's decides:
// only of a longer name is the middle compared as well. The factor that mixes
// the words is found when the set is built, so that names share a slot only
// when their words cannot be told apart.
package gate
