package text_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/cortado-ml/cortado/data"
	"github.com/cortado-ml/cortado/data/text"
)

const song = "row, row, row your boat, gently down the stream; merrily, merrily, merrily, merrily, life is but a dream"

func Example() {
	tokenizer, err := text.TrainBPE(strings.NewReader(song), 270)
	if err != nil {
		fmt.Println(err)
		return
	}
	tokens := tokenizer.Encode("merrily, row")
	for _, t := range tokens {
		part, err := tokenizer.Decode([]int32{t})
		fmt.Printf("%d %q %v\n", t, part, err)
	}
	windows, err := text.Windows(tokenizer.Encode(song), 8, 8)
	if err != nil {
		fmt.Println(err)
		return
	}
	for batch, err := range (data.Loader{Data: windows, Batch: 2}).Batches(context.Background(), data.Position{}) {
		fmt.Println(batch.X.Spec(), batch.X.Row(0), batch.Y.Row(0), err)
	}
	// Output:
	// 109 "m" <nil>
	// 258 "er" <nil>
	// 261 "rily" <nil>
	// 44 "," <nil>
	// 267 " row" <nil>
	// i64[2 8] i64[8]{264 44 267 44 267 32 121 111} i64[8]{44 267 44 267 32 121 111 117} <nil>
	// i64[2 8] i64[8]{103 101 110 116 256 266 260 110} i64[8]{101 110 116 256 266 260 110 32} <nil>
	// i64[2 8] i64[8]{269 59 263 44 263 44 263 44} i64[8]{59 263 44 263 44 263 44 263} <nil>
	// i64[1 8] i64[8]{105 115 265 117 116 32 97 266} i64[8]{115 265 117 116 32 97 266 114} <nil>
}

// How well five-grams predict the end of a text.
func ExampleNGram() {
	model, err := text.NewNGram(5)
	if err != nil {
		fmt.Println(err)
		return
	}
	model.Learn(song[:80])
	fmt.Printf("%.2f bits per character\n", model.Bits(song, 80)/float64(len(song)-80))
	// Output: 4.38 bits per character
}
