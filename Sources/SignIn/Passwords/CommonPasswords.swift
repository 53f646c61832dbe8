/// Passwords that every guessing list begins with, ASCII-folded; shorter ones fall to the length rule.
enum CommonPasswords {
    static let list: Set<String> = Set(
        """
        00000000 01234567 0123456789 0987654321 11111111 11223344 112233445566 12121212 121212121 123123123 12341234
        12344321 1234512345 123454321 12345678 123456780 123456789 1234567890 12345678910 123456abc 123456qwerty
        1234qwer 123654789 123abc123 123qwe123 123qweasd 12qwaszx 14725836 147258369 159753456 19871987 1a2b3c4d
        1q2w3e4r 1q2w3e4r5t 1q2w3e4r5t6y 1qaz2wsx 1qaz2wsx3edc 20002000 22222222 31415926 314159265 55555555
        66666666 696969696 741852963 77777777 789456123 87654321 88888888 963852741 987654321 9876543210 99999999
        a12345678 a123456789 a1b2c3d4 a1s2d3f4 aa123456 aaa11111 aabbccdd abc12345 abc123456 abc123abc abc@1234
        abcd1234 abcd@1234 abcdefg1 abcdefgh abcdefghi access123 access14 admin123 admin1234 admin12345 admin@123
        adminadmin administrator alexander alexandra allah123 amanda123 america1 amsterdam andrew123 android1
        angel123 angels123 anthony1 arsenal1 asdf1234 asdfasdf asdfghjk asdfghjkl asdfqwer ashley123 asshole1
        australia autumn2025 azerty123 azertyuiop babyboy1 babygirl babygirl1 banana123 barcelona baseball baseball1
        basketball batman123 benjamin bigdaddy bigdog123 bismillah blessed1 blink182 bonjour1 brandon1 brasil123
        brooklyn bubbles1 bulldogs bullshit buster123 butterfly butterfly1 california cameron1 canada123 changeit
        changeme changeme1 changeme123 charlie1 cheese123 chelsea1 chicago1 chocolate chocolate1 christ123 christian
        christine cisco123 company1 company123 computer computer1 contrasena corazon1 corinthians corvette cowboys1
        cupcake1 daniel123 danielle database december december1 default1 default123 demo1234 deutschland docker123
        dolphin1 dolphins doudou123 dragon12 dragon123 elizabeth england1 estrella example1 facebook facebook1
        faithful february ferrari1 feyenoord flamengo florida1 flower123 football football1 forever1 forever21
        fortinet france123 freedom1 friday13 fuckyou1 fuckyou123 fuckyou2 fussball gabriel1 garfield gateway1
        germany1 ginger123 god12345 google123 guest123 hallo123 hallohallo hamburg1 hannah123 harley123 heaven77
        hello123 hello1234 hellohello hockey12 homelesspa hottie123 huawei123 hunter12 hunter123 ilovegod ilovemom
        iloveyou iloveyou! iloveyou1 iloveyou2 india123 india@123 internet internet1 iphone12 jackass1 january1
        jasmine1 jenkins1 jennifer jennifer1 jessica1 jesus123 jesuschrist jonathan jordan23 joshua123 juniper1
        juventus killer12 killer123 krishna1 kubernetes letmein! letmein1 letmein12 letmein123 linkedin linkedin1
        liverpool liverpool1 lkjhgfdsa login123 london123 loulou123 lovelove lovely123 loveme123 loveyou1 lubimaya
        maksim123 manchester marina123 mariposa marlboro1 master12 master123 matrix123 matthew1 melissa1 mercedes
        metallica michael1 michelle michelle1 mickey123 microsoft midnight midnight1 mnbvcxz1 monday123 monkey12
        monkey123 motdepasse mustang1 mypassword mysql123 natasha1 nederland netgear1 newpassword newyork1 nicholas
        nirvana1 nothing1 november october1 office123 oracle123 orange123 p@ss1234 p@ssw0rd p@ssw0rd1 p@ssw0rd123
        p@ssword p@ssword1 pa55word pakistan palmeiras pass1234 pass12345 pass@123 pass@1234 passpass passw0rd
        passw0rd1 password password! password1 password12 password123 password1234 password@123 passwort passwort1
        patricia pepper123 poiuytrewq pokemon1 pokemon123 porsche1 postgres postgres1 precious precious1 princesa
        princess princess1 purple123 pussy123 q1w2e3r4 q1w2e3r4t5 qazwsx123 qazwsxedc qweasd123 qweasdzxc qwer1234
        qwerty12 qwerty123 qwerty1234 qwerty12345 qwerty@123 qwertyqwerty qwertyui qwertyuiop rainbow1 rainbow123
        ranger123 raspberry realmadrid rebecca1 redskins richard1 robert123 root1234 rootroot samantha sample123
        samsung1 samsung123 schalke04 schatz123 scoobydoo scooter1 secret12 secret123 secure123 security security1
        senha123 server123 sexy1234 shadow12 shadow123 slipknot snoopy123 softball soleil123 something sommer123
        spiderman spiderman1 spring2025 spring2026 startrek starwars starwars1 steelers stephanie strawberry
        summer12 summer123 summer2024 summer2025 summer2026 sunflower sunshine sunshine1 superman superman1
        sweetheart sweetie1 swimming teamo123 teamomucho temp1234 temp12345 temporary test1234 test12345 test@123
        tester123 testing1 testing123 testtest texas123 thomas123 tigger123 toor1234 toronto1 tplink123 trustno1
        ubuntu123 user1234 username vagrant1 veronica victoria vkontakte wachtwoord welcome1 welcome12 welcome123
        welcome2024 welcome2025 welcome2026 welcome@123 welkom01 welkom123 whatever whatever1 william1 windows1
        winter123 winter2024 winter2025 winter2026 x1234567 yankees1 z1234567 zaq12wsx zaq1zaq1 zxcvbnm1 zxcvbnm123
        zxcvbnmm
        """.split { $0 == " " || $0 == "\n" }.map(String.init))
}
