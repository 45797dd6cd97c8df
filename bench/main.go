package main
import ("context";"fmt";"os";"flag")
func main(){ lib:=flag.String("library","","");flag.Parse();t,err:=newTree(context.Background()); if err!=nil{fmt.Println(err);os.Exit(1)}; p,err:=t.library(context.Background()); if err!=nil{fmt.Println(err);os.Exit(1)}; b,_:=os.ReadFile(p); os.WriteFile(*lib,b,0o755)}
